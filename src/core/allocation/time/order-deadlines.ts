import { parseAttemptId } from "../../../shared/attempt-id.ts";
import { LAST_BYTE_MS } from "../../../shared/limits.ts";
import { earliest, type Instant } from "../../../shared/machine.ts";
import { logsComplete } from "../output/logs.ts";
import type { AllocationRecord, AttemptRecord } from "../state.ts";
import { turnsFrom } from "../tasks/group.ts";
import { groupView, isOver, isWithHost } from "../tasks/tasks.ts";
import { deadlineOf, isTimedByHost } from "./time-limits.ts";

/**
 * The instants at which the order of an epoch changes by time alone: a shutdown delay is over, or a restart
 * delay that the host does not wait for by itself, the last bytes of an earlier attempt are given up, or the
 * time limit is reached while a task lives whose host does not keep it.
 */
export function orderMarks(record: AllocationRecord): Instant[] {
  const placedAt = record.placements.find((one) => one.epoch > record.endedEpoch)?.from ?? null;
  const deadline = record.wish === null ? deadlineOf(record, placedAt) : undefined;
  return groupView(record).members.flatMap(({ task, known, n, before, attempt: present }) => {
    const marks: Instant[] = [];
    if (deadline !== undefined && known.dead === undefined && !isTimedByHost(present)) marks.push(deadline);
    const waits = known.dead === undefined && !isWithHost(known) && present === undefined;
    if (waits && known.startAt !== undefined) marks.push(known.startAt);
    if (known.stopFrom !== undefined && task.shutdownDelayMs > 0)
      marks.push(known.stopFrom + task.shutdownDelayMs);
    if (known.restartOf === n && known.restartAt !== undefined) marks.push(known.restartAt);
    if (before !== undefined && !logsComplete(record, before.id)) marks.push(bytesBy(before));
    return marks;
  });
}

function bytesBy({ finishedAt, heardAt }: AttemptRecord): Instant {
  return (heardAt ?? finishedAt ?? 0) + LAST_BYTE_MS;
}

/** Whether an ended attempt is still waited for, because bytes of its logs are missing. */
export function isMissingBytes(record: AllocationRecord, attempt: AttemptRecord, now: Instant): boolean {
  return !logsComplete(record, attempt.id) && now < bytesBy(attempt);
}

/**
 * Whether nothing more can come of an attempt's logs: all of it is stored, or the rest was given up. Of the
 * present attempt of a task that is when its placement ends.
 */
export function isLogOver(record: AllocationRecord, attempt: AttemptRecord, now: Instant): boolean {
  if (record.ended || attempt.epoch <= record.endedEpoch) return true;
  if (!isOver(attempt)) return false;
  const { task, n } = parseAttemptId(attempt.id) ?? {};
  const present = record.tasks.find(({ name }) => name === task)?.n ?? 1;
  return logsComplete(record, attempt.id) || ((n ?? present) < present && now >= bytesBy(attempt));
}

/** When time alone does something to the tasks of an epoch next, after `woken`. */
export function groupWakesAt(record: AllocationRecord, woken: Instant): Instant | undefined {
  const view = groupView(record);
  const marks = orderMarks(record).filter((at) => at > woken);
  const killed = record.wish !== null || record.kill !== undefined;
  // A poststop task has no turn: when the others have ended, nobody waits for one.
  const living = view.members.some(({ task, state }) => task.hook !== "poststop" && state !== "dead");
  const waits = living && record.tasks.every(({ stopFrom }) => stopFrom === undefined);
  const turns = killed && waits && view.group.shutdownDelayMs > 0 ? [turnsFrom(view)] : [];
  return earliest(...marks, ...turns);
}
