import { POSTSTOP_AFTER_WISH_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { addEvent } from "../read/events.ts";
import type { AllocationRecord } from "../state.ts";
import { groupView, type Member } from "../tasks/tasks.ts";

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
export function poststopBy(record: AllocationRecord): Instant | undefined {
  const { wish, ended, poststopOver } = record;
  if (wish === null || ended || poststopOver !== undefined) return undefined;
  const { members } = groupView(record);
  const others = members.filter(({ task }) => task.hook !== "poststop");
  if (others.length === members.length || others.some(({ state }) => state !== "dead")) return undefined;
  // They begin when the end of the last of the others is heard, which may be long after that end.
  const ends = others.flatMap(({ deadAt, known }) => [deadAt, known.attempts.at(-1)?.heardAt ?? 0]);
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
export function killable(record: AllocationRecord, only: string | undefined): Member[] {
  return groupView(record).members.filter(({ task, state, known, ...one }) => {
    const isStopped = one.isStopping || known.stopFrom !== undefined || one.restarting === true;
    const comesLast = task.hook === "poststop" && record.wish !== null;
    return state === "running" && (only === undefined || task.name === only) && (isStopped || comesLast);
  });
}
