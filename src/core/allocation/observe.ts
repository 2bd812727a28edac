import type { AttemptReport, HostStop } from "../../schema/host.ts";
import { type AttemptParts, parseAttemptId } from "../attempt-id.ts";
import { MAX_TASK_ATTEMPTS } from "../limits.ts";
import type { Instant } from "../machine.ts";
import type { Observed } from "../messages.ts";
import { isUnkillable } from "../worker/placements.ts";
import { addEvent } from "./events.ts";
import { takeLogs } from "./logs.ts";
import { newPlacement, storePlacement } from "./placement.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  openPlacement,
  type TaskRecord,
} from "./state.ts";
import { spillTails } from "./tails.ts";
import { isOver } from "./tasks.ts";

/** How far an attempt is. It never goes back: a late report of an earlier state changes nothing. */
const PROGRESS: Record<AttemptReport["state"], number> = {
  preparing: 0,
  running: 1,
  stopping: 2,
  exited: 3,
  gone: 3,
};

/**
 * Folds in what the host of the open epoch says. An allocation that restarted may have forgotten a placement
 * of which the worker reports: nobody but it can have ordered it, so it takes the placement up again.
 */
export function foldObserved(state: AllocationState, message: Observed, now: Instant): AllocationState {
  const { record } = state;
  if (record === null) return state;
  if (record.ended || message.epoch <= record.endedEpoch)
    return { ...state, record: noteLate(record, message, now) };
  const placement = openPlacement(state) ?? newPlacement(message.worker, message.epoch, now);
  if (message.epoch !== record.endedEpoch + 1 || placement.worker !== message.worker) return state;
  let next = storePlacement(record, placement);
  const spill = [...state.spill];
  for (const report of message.attempts) {
    const parts = parseAttemptId(report.id);
    if (parts === undefined || parts.epoch !== placement.epoch || !wasOrdered(next, parts)) continue;
    const taken = takeLogs(foldAttempt(next, parts.task, report, now), report, now);
    next = taken.record;
    spill.push(...taken.segments);
  }
  const kept = spillTails(next);
  spill.push(...kept.rows);
  return { ...state, record: kept.record, memo: { ...state.memo, placement: null }, spill };
}

/** An attempt with a higher number than the present one was never ordered: the host cannot know it. */
function wasOrdered(record: AllocationRecord, { task, n }: AttemptParts): boolean {
  const known = record.tasks.find(({ name }) => name === task);
  return known !== undefined && n <= (known.n ?? 1);
}

function foldAttempt(
  record: AllocationRecord,
  name: string,
  report: AttemptReport,
  now: Instant,
): AllocationRecord {
  const task = record.tasks.find((one) => one.name === name);
  if (task === undefined) return record;
  const before = task.attempts.find((one) => one.id === report.id);
  const further = before === undefined || PROGRESS[report.state] > PROGRESS[before.state];
  // That its kill was given up is news, though it is no progress.
  const stuck = before?.killError === null && !isOver(before) && isUnkillable(report);
  if (!further && !stuck) return record;
  const attempt = advance(before, further ? report : { ...report, state: before.state }, now);
  const others = task.attempts.filter((one) => one.id !== report.id);
  const all = [...others, attempt];
  const attempts = all.slice(-MAX_TASK_ATTEMPTS);
  const dropped = all.slice(0, -MAX_TASK_ATTEMPTS);
  const tasks = record.tasks.map((one): TaskRecord => (one === task ? { ...task, attempts } : one));
  const startedAt = record.startedAt ?? attempt.startedAt ?? undefined;
  const changed = { ...record, tasks, ...(startedAt === undefined ? {} : { startedAt }) };
  return attemptEvents(withoutLogsOf(changed, dropped), name, before, attempt, report, now);
}

/** An attempt that is no longer remembered has no logs any more. */
function withoutLogsOf(record: AllocationRecord, dropped: AttemptRecord[]): AllocationRecord {
  if (dropped.length === 0) return record;
  const logs = { ...record.logs };
  for (const { id } of dropped) delete logs[id];
  return { ...record, logs };
}

/**
 * Times are durations on the host's own clock: a host's idea of the date is never trusted
 * (`host-protocol.md`), and an absurd age must not become an instant that no date can say.
 */
function advance(before: AttemptRecord | undefined, report: AttemptReport, now: Instant): AttemptRecord {
  const ago = (ms: number | undefined): Instant | null =>
    ms === undefined ? null : Math.max(0, Math.round(now - ms));
  const over = report.state === "exited" || report.state === "gone";
  const stopped = report.stopped ?? before?.stopped;
  return {
    id: report.id,
    epoch: parseAttemptId(report.id)?.epoch ?? 0,
    state: report.state,
    startedAt: before?.startedAt ?? ago(report.startedAgoMs),
    finishedAt: over ? (ago(report.endedAgoMs) ?? now) : null,
    exit: report.exit ?? null,
    startError: report.startError ?? null,
    timedOut: report.timedOut ?? false,
    ...(stopped === undefined ? {} : { stopped }),
    killError: report.kill?.error ?? before?.killError ?? null,
  };
}

const HOST_STOPS: Record<HostStop, string> = {
  lease: "its host stops it, because the lease ends",
  agent: "its host stops it, because the agent there was told to end",
};

function attemptEvents(
  record: AllocationRecord,
  task: string,
  before: AttemptRecord | undefined,
  after: AttemptRecord,
  { kill }: AttemptReport,
  now: Instant,
): AllocationRecord {
  let next = record;
  if (before === undefined && after.state === "preparing" && hasArtifacts(record, task)) {
    next = addEvent(next, "Downloading Artifacts", now, "the host fetches its artifacts", { task });
  }
  if (after.startedAt !== null && (before?.startedAt ?? null) === null) {
    next = addEvent(next, "Started", after.startedAt, "the command was started", { task });
  }
  if (after.stopped !== undefined && before?.stopped === undefined) {
    const reason = HOST_STOPS[after.stopped];
    next = addEvent(next, "Killing", now, reason, { task, details: { kill_reason: reason } });
  }
  if (after.killError !== null && (before?.killError ?? null) === null) {
    const message = `the host could not kill it in five tries and goes on trying: ${after.killError}`;
    next = addEvent(next, "Kill Failed", now, message, { task, details: { kill_error: after.killError } });
  }
  if (after.startError !== null) {
    const { code, text } = after.startError;
    return code === "artifact_failed"
      ? addEvent(next, "Failed Artifact Download", now, text, { task, details: { download_error: text } })
      : addEvent(next, "Driver Failure", now, text, { task, details: { driver_error: text } });
  }
  if (after.state === "gone") {
    return addEvent(next, "Lost", now, "nothing of it is left, and how it ended is not known", { task });
  }
  if (after.exit === null) return next;
  const { code, signal, oomKilled, message } = after.exit;
  const said = [code === null ? "" : `exit code ${code}`, signal === null ? "" : `signal ${signal}`, message];
  const details = { exit_code: String(code ?? ""), signal: signal ?? "", oom_killed: String(oomKilled) };
  // The proof that a kill was one, and by which means: what the ordinary end does not need.
  const proof: Record<string, string> =
    kill === undefined ? {} : { killed_by: kill.by, tree_gone: String(kill.treeGone) };
  return addEvent(
    next,
    "Terminated",
    after.finishedAt ?? now,
    said.filter((part) => part !== "").join(", "),
    { task, details: { ...details, ...proof } },
  );
}

function hasArtifacts({ spec }: AllocationRecord, task: string): boolean {
  return (spec.tasks?.find(({ name }) => name === task)?.artifacts ?? []).length > 0;
}

/**
 * A report that contradicts an end that is stored is recorded, once for each attempt, and never applied
 * (invariant 1).
 */
function noteLate(record: AllocationRecord, message: Observed, now: Instant): AllocationRecord {
  let next = record;
  for (const report of message.attempts) {
    const known = record.tasks.flatMap((task) => task.attempts).find((one) => one.id === report.id);
    const contradicts = known !== undefined && known.state === "gone" && report.state !== "gone";
    const noted = next.events.some(
      (event) => event.type === "Late Report" && event.details.attempt === report.id,
    );
    if (!contradicts || noted) continue;
    const text = `the host now says that ${report.id} is ${report.state}; the run had ended without it`;
    next = addEvent(next, "Late Report", now, text, { details: { attempt: report.id, state: report.state } });
  }
  return next;
}
