// How healthy is a run, and what do readers see of its checks (health.md#run)?
import type { CheckView } from "../../../schema/run/checks.ts";
import { CHECK_STATUSES, type CheckStatus, type Health, healthOf } from "../../../shared/health/words.ts";
import { iso } from "../../../shared/time/instant.ts";
import type { AllocationRecord } from "../state.ts";
import { groupView, type Member } from "../tasks/tasks.ts";

/** How many checks of a run have each status, for its pool. */
export type CheckCounts = Record<CheckStatus, number>;

/**
 * The statuses of the checks of a task, in the order of its spec. All are pending while its present attempt
 * does not run, and until its host has said something.
 */
export function statusesOf({ task, known, phase }: Member): CheckStatus[] {
  const names = (task.spec.checks ?? []).map(({ name }) => name);
  const attempt = phase.kind === "running" ? phase.attempt.id : undefined;
  const items = known.checks !== undefined && known.checks.attempt === attempt ? known.checks.items : [];
  return names.map((name) => items.find((item) => item.name === name)?.status ?? "pending");
}

/** The tasks of a run that have checks, and that no update has removed. */
export function checkedMembers(record: AllocationRecord): Member[] {
  const { members } = groupView(record);
  return members.filter(({ task, known }) => task.spec.checks !== undefined && known.removed === undefined);
}

/** The health of a run that has not ended. Undefined: it has ended, or has no checks. */
export function healthOfRun(record: AllocationRecord): Health | undefined {
  if (record.ended) return undefined;
  return healthOf(checkedMembers(record).flatMap(statusesOf));
}

/** What a pool is told of the checks of a run. Empty: it has ended, or has no checks. */
export function healthFields(record: AllocationRecord): { health?: Health; checks?: CheckCounts } {
  const health = healthOfRun(record);
  if (health === undefined) return {};
  const statuses = checkedMembers(record).flatMap(statusesOf);
  const counts = CHECK_STATUSES.map((status) => [status, statuses.filter((one) => one === status).length]);
  return { health, checks: Object.fromEntries(counts) as CheckCounts }; // has each status
}

/** The checks of a task as readers see them: of a task that has ended, as they were then. */
export function checksShown({ task, known, attempt }: Member): { checks?: CheckView[] } {
  const { checks } = task.spec;
  if (checks === undefined) return {};
  const items = known.checks !== undefined && known.checks.attempt === attempt?.id ? known.checks.items : [];
  const views = checks.map(({ name }): CheckView => {
    const item = items.find((one) => one.name === name);
    if (item === undefined) return { name, status: "pending", since: null };
    const { status, since, output } = item;
    return { name, status, since: iso(since), ...(output === undefined ? {} : { output }) };
  });
  return { checks: views };
}
