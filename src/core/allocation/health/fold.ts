// What does a host's report change in the checks of a task (health.md#rows)?
import type { AttemptReport, CheckReport } from "../../../schema/host.ts";
import { healthOf, MAX_CHECK_OUTPUT_CHARS } from "../../../shared/health/words.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { PlacedRun } from "../draft.ts";
import type { AttemptRecord, CheckRecord, TaskChecks } from "../state.ts";
import { attemptOf, isOver, type Member } from "../tasks/tasks.ts";

/** How many events say that the checks of one attempt fail or pass. More changes have none. */
export const MAX_HEALTH_EVENTS = 20;
/** How much of the output of a failing check is in an event. */
const EVENT_OUTPUT_CHARS = 256;

/**
 * Applies what a host says of the checks of the present attempt of a task. Only a status that changes, and
 * the first failure of a check that is pending, is written: a host may repeat itself as often as it likes.
 */
export function noteChecks(run: PlacedRun, { task }: Member, report: AttemptReport): void {
  const { record, placement, now } = run;
  const known = record.tasks.find(({ name }) => name === task.name);
  const attempt = known && attemptOf(record, known, placement.epoch);
  if (report.checks === undefined || attempt?.id !== report.id || isOver(attempt)) return;
  const before = known?.checks?.attempt === report.id ? known.checks : undefined;
  const names = (task.spec.checks ?? []).map(({ name }) => name);
  const items = names.flatMap((name) => {
    const said = report.checks?.find((one) => one.name === name);
    return said === undefined ? [] : itemAfter(before?.items[names.indexOf(name)], said, attempt, now);
  });
  // A host that names only some of them has an agent that does not know what it does.
  if (items.length !== names.length) return;
  if (before !== undefined && items.every((item, i) => item === before.items[i])) return;
  const after = { attempt: report.id, items, events: before?.events ?? 0 };
  run.changeTask(task, { checks: noteHealth(run, task.name, before, after) });
}

function itemAfter(
  before: CheckRecord | undefined,
  { name, status, sinceAgoMs, output = "" }: CheckReport,
  { startedAt }: AttemptRecord,
  now: Instant,
): CheckRecord {
  const isSame = before?.status === status;
  if (before !== undefined && isSame && (before.output !== undefined || output === "")) return before;
  const since = Math.max(startedAt ?? 0, Math.min(now, Math.round(now - sinceAgoMs)));
  const said = output === "" ? {} : { output: output.slice(0, MAX_CHECK_OUTPUT_CHARS) };
  return { name, status, since: before !== undefined && isSame ? before.since : since, ...said };
}

/** Adds an event if the checks of a task now all pass, or if one of them has become critical. */
function noteHealth(
  run: PlacedRun,
  task: string,
  before: TaskChecks | undefined,
  after: TaskChecks,
): TaskChecks {
  const [was, is] = [before, after].map((one) => healthOf((one?.items ?? []).map(({ status }) => status)));
  if (is === was || (is !== "healthy" && is !== "unhealthy")) return after;
  if (after.events >= MAX_HEALTH_EVENTS) return after;
  const events = after.events + 1;
  const end = events < MAX_HEALTH_EVENTS ? "" : "; no more events say how the checks of this attempt change";
  const failing = after.items.find(({ status }) => status === "critical");
  const at = Math.max(...after.items.map(({ since }) => since));
  if (is === "healthy" || failing === undefined) {
    run.note("Healthy", at, `its checks pass${end}`, { task, details: { attempt: after.attempt } });
  } else {
    const output = failing.output?.slice(0, EVENT_OUTPUT_CHARS) ?? "";
    const why = output === "" ? "" : `: ${output}`;
    const details = { attempt: after.attempt, check: failing.name, check_output: output };
    run.note("Unhealthy", failing.since, `its check "${failing.name}" fails${why}${end}`, { task, details });
  }
  return { ...after, events };
}
