import { POSTSTOP_AFTER_WISH_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { addEvent } from "../read/events.ts";
import type { AllocationRecord } from "../state.ts";
import type { TaskView } from "../tasks/lifecycle.ts";
import { groupOfRun, isStopping, recordOf, viewsOf } from "../tasks/tasks.ts";

/**
 * The run after an abort with `force`: every task that lives is killed at once, poststop tasks too, and the
 * end of the run does not wait for its logs.
 */
export function forced(record: AllocationRecord, by: string, now: Instant): AllocationRecord {
  const isOver = record.ended || (record.wish === null && record.outcome === null);
  if (record.forced !== undefined || isOver) return record;
  const details = { by, kill_timeout: "0s", kill_reason: `${by} does not wait` };
  const text = `${by} wants everything of it killed at once`;
  return addEvent({ ...record, forced: { at: now, by } }, "Killing", now, text, { details });
}

/**
 * Until when the poststop tasks of a run that is to end may run: their time counts from the wish, or from the
 * end of the last of the others. Undefined: others live, or nobody wants the run to end.
 */
export function poststopBy({ wish, tasks, ...record }: AllocationRecord): Instant | undefined {
  if (wish === null || record.ended || record.poststopOver !== undefined) return undefined;
  const group = groupOfRun({ ...record, wish, tasks });
  const posts = new Set(group.tasks.filter(({ hook }) => hook === "poststop").map(({ name }) => name));
  if (posts.size === 0) return undefined;
  const others = tasks.filter(({ name }) => !posts.has(name));
  if (others.some(({ dead }) => dead === undefined)) return undefined;
  // They begin when the end of the last of the others is heard, which may be long after that end.
  const ends = others.flatMap(({ dead, attempts }) => [dead?.at ?? 0, attempts.at(-1)?.heardAt ?? 0]);
  return Math.max(wish.at, ...ends) + POSTSTOP_AFTER_WISH_MS;
}

/** Notes that the time of the poststop tasks is over: from then on they are stopped, too. */
export function withPoststopOver(record: AllocationRecord, now: Instant): AllocationRecord {
  const by = poststopBy(record);
  return by === undefined || now < by ? record : { ...record, poststopOver: now };
}

/**
 * The living tasks that SIGKILL ends at once, in place of the stop that they are in: those that are being
 * stopped, and in a run that is to end the poststop tasks, too.
 */
export function killable(record: AllocationRecord, views: TaskView[], only: string | undefined): TaskView[] {
  return views.filter(({ task, state }) => {
    const { stopFrom, restartOf, n = 1 } = recordOf(record, task);
    const isStopped = isStopping(record, task) || stopFrom !== undefined || restartOf === n;
    const comesLast = task.hook === "poststop" && record.wish !== null;
    return state === "running" && (only === undefined || task.name === only) && (isStopped || comesLast);
  });
}

/** Whether SIGKILL would hurry any of them now. */
export function isKillable(record: AllocationRecord, epoch: number, only: string | undefined): boolean {
  return killable(record, viewsOf(record, groupOfRun(record), epoch), only).length > 0;
}
