import type { AttemptReport } from "../../../schema/host.ts";
import { durationMs } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  openPlacement,
  type PlacementRecord,
  type Wish,
} from "../state.ts";
import { isOver, type Member } from "../tasks/tasks.ts";

/** When the run's time is over: counted from its first placement, preparation and restarts included. */
export function deadlineOf(record: AllocationRecord, placedAt: Instant | null): Instant | undefined {
  const from = record.firstPlacedAt ?? placedAt;
  if (from === null || record.spec.timeout === undefined) return undefined;
  return from + durationMs(record.spec.timeout);
}

/**
 * Whether the host of an attempt sees to its time limit: it has it, and ends what has it in time. Then this
 * control plane does not: its own clock may have jumped, and it may have been away.
 */
export function isTimedByHost(attempt: AttemptRecord | undefined): boolean {
  return attempt?.keepsTime === true && attempt.startedAt !== null;
}

/** When a run that waits for a place is given up. */
export function queueDeadline(state: AllocationState): Instant | undefined {
  const { record } = state;
  if (record?.spec.queueTimeout === undefined || openPlacement(state) !== null) return undefined;
  if (record.placeAt !== undefined) return undefined;
  return record.waitingSince + durationMs(record.spec.queueTimeout);
}

/** The wish of a time limit that was reached at `at`. */
export function timeIsOver({ spec }: AllocationRecord, at: Instant): Wish {
  const reason = `the time limit of ${spec.timeout} was reached`;
  return { state: "timedout", at, reason, by: "drover", failure: null };
}

/**
 * Whether the time limit has ended an attempt. A host that keeps time limits says so. If the host does not
 * keep them, or the attempt was never started, the time of the attempt's end decides.
 */
export function hasTimedOut(
  record: AllocationRecord,
  placement: PlacementRecord,
  { isStopping, known }: Member,
  attempt: AttemptRecord,
  report: AttemptReport,
): boolean {
  if (report.timedOut === true) return true;
  const { finishedAt, startedAt, keepsTime } = attempt;
  if (!isOver(attempt) || finishedAt === null || record.wish !== null) return false;
  if (keepsTime && startedAt !== null) return false;
  if (isStopping || known.restartOf !== undefined || attempt.stopped !== undefined) return false;
  if (attempt.startError !== null) return false;
  const deadline = deadlineOf(record, placement.from);
  return deadline !== undefined && finishedAt >= deadline;
}
