// How does a stop that is under way become faster: by force, by SIGKILL, by the time limit of poststop tasks?
import type { Instant } from "../../../shared/machine.ts";
import { addEvent } from "../read/events.ts";
import type { AllocationRecord } from "../state.ts";
import { groupView, type Member } from "../tasks/tasks.ts";

/** How long poststop tasks of a run that is to end may take, from the moment they may start. */
export const POSTSTOP_AFTER_WISH_MS = 5 * 60_000;

/**
 * The run after an abort with `force`: every living task is killed at once, even poststop tasks, and the end
 * of the run does not wait for its logs.
 */
export function forceKill(record: AllocationRecord, by: string, now: Instant): AllocationRecord {
  const isOver = record.ended || (record.stopRequest === null && record.outcome === null);
  if (record.forced !== undefined || isOver) return record;
  const details = { by, kill_timeout: "0s", kill_reason: `${by} asked to kill everything at once` };
  const text = `${by} asked to kill everything at once`;
  return addEvent({ ...record, forced: { at: now, by } }, "Killing", now, text, { details });
}

/**
 * Until when poststop tasks of a run that is to stop may run: their time counts from the request to stop, or
 * from the end of the last other task. Undefined: other tasks live, or the run is not to stop.
 */
export function poststopBy(record: AllocationRecord): Instant | undefined {
  const { stopRequest, ended, poststopOver } = record;
  if (stopRequest === null || ended || poststopOver !== undefined) return undefined;
  const { members } = groupView(record);
  const others = members.filter(({ task }) => task.hook !== "poststop");
  if (others.length === members.length || others.some(({ state }) => state !== "dead")) return undefined;
  // Poststop tasks begin when the end of the last other task becomes known, which may be late.
  const ends = others.flatMap(({ deadAt, known }) => [deadAt, known.attempts.at(-1)?.heardAt ?? 0]);
  return Math.max(stopRequest.at, ...ends) + POSTSTOP_AFTER_WISH_MS;
}

/** Notes that the time of the poststop tasks is over: from now on they are stopped, too. */
export function withPoststopOver(record: AllocationRecord, now: Instant): AllocationRecord {
  const by = poststopBy(record);
  return by === undefined || now < by ? record : { ...record, poststopOver: now };
}

/**
 * The living tasks that SIGKILL kills at once: those that are being stopped, and in a run that is to stop the
 * poststop tasks as well.
 */
export function killable(record: AllocationRecord, only: string | undefined): Member[] {
  return groupView(record).members.filter(({ task, state, known, ...one }) => {
    const isStopped = one.isStopping || known.stopFrom !== undefined || one.restarting === true;
    const comesLast = task.hook === "poststop" && record.stopRequest !== null;
    return state === "running" && (only === undefined || task.name === only) && (isStopped || comesLast);
  });
}
