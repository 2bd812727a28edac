// When does time alone change an order, and how long does a run wait for an ended attempt's log bytes?
import { parseAttemptId } from "../../../shared/attempt-id.ts";
import { LAST_BYTE_MS } from "../../../shared/limits.ts";
import { earliest, type Instant } from "../../../shared/machine.ts";
import { logsComplete } from "../output/logs.ts";
import type { AllocationRecord, AttemptRecord } from "../state.ts";
import { turnsFrom, turnsHaveBegun } from "../tasks/group.ts";
import { groupView, isOver, isWithHost } from "../tasks/tasks.ts";
import { deadlineOf, isTimedByHost } from "./time-limits.ts";

/**
 * When time alone changes the order of an epoch: at the end of a shutdown delay; at the end of a restart
 * delay that the host does not know; when the run stops waiting for log bytes of an earlier attempt; at a
 * time limit that the host does not enforce.
 */
export function orderChangesAt(record: AllocationRecord): Instant[] {
  const placedAt = record.placements.find((one) => one.epoch > record.endedEpoch)?.from ?? null;
  const deadline = record.stopRequest === null ? deadlineOf(record, placedAt) : undefined;
  return groupView(record).members.flatMap(({ task, known, n, before, attempt: present }) => {
    const marks: Instant[] = [];
    if (deadline !== undefined && known.dead === undefined && !isTimedByHost(present)) marks.push(deadline);
    const waits = known.dead === undefined && !isWithHost(known) && present === undefined;
    // A delay that is over stays over: else the clock could go back, and the revision with it (rule R1).
    if (waits && known.startAt !== undefined) marks.push(known.delayOver === n ? 0 : known.startAt);
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

/** Whether the run still waits for missing log bytes of an ended attempt. */
export function isMissingBytes(record: AllocationRecord, attempt: AttemptRecord, now: Instant): boolean {
  return !logsComplete(record, attempt.id) && now < bytesBy(attempt);
}

/**
 * Whether an attempt's logs are final: all bytes are stored, or the run no longer waits for the missing
 * bytes. For the present attempt of a task, the run waits until the attempt's placement ends.
 */
export function isLogOver(record: AllocationRecord, attempt: AttemptRecord, now: Instant): boolean {
  if (record.ended || attempt.epoch <= record.endedEpoch) return true;
  if (!isOver(attempt)) return false;
  const { task, n } = parseAttemptId(attempt.id) ?? {};
  const present = record.tasks.find(({ name }) => name === task)?.n ?? 1;
  return logsComplete(record, attempt.id) || ((n ?? present) < present && now >= bytesBy(attempt));
}

/** When time alone next changes the tasks of an epoch after `handledUpTo`. */
export function groupWakesAt(record: AllocationRecord, handledUpTo: Instant): Instant | undefined {
  const view = groupView(record);
  const marks = orderChangesAt(record).filter((at) => at > handledUpTo);
  const killed = record.stopRequest !== null || record.kill !== undefined;
  // Turns do not apply to poststop tasks.
  const waits = view.members.some(
    ({ task, state, known }) => task.hook !== "poststop" && state !== "dead" && known.stopFrom === undefined,
  );
  const turns = killed && waits && !turnsHaveBegun(view, handledUpTo) ? [turnsFrom(view)] : [];
  return earliest(...marks, ...turns);
}
