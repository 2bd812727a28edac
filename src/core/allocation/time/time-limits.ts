// When is a run's time over, and who enforces the time limit?
import type { AttemptReport } from "../../../schema/host.ts";
import { keepsTime } from "../../../shared/compat.ts";
import { durationMs } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  type Existing,
  openPlacement,
  type PlacementRecord,
  type StopRequest,
} from "../state.ts";
import { isOver, type Member } from "../tasks/tasks.ts";

/** Whether the time limit is that of each try, and not that of all together (retry.md#time-limit). */
export function limitsEachTry({ spec }: Pick<AllocationRecord, "spec">): boolean {
  return spec.retry?.on.includes("timeout") === true;
}

/**
 * When the run's time is over. It counts from the first placement, and includes preparation and restarts. If
 * it is the time of each try, it counts from the open placement: between tries there is no limit.
 */
export function deadlineOf(record: AllocationRecord, placedAt: Instant | null): Instant | undefined {
  const last = record.placements.at(-1);
  const open = last?.to === null ? last.from : null;
  const from = (limitsEachTry(record) ? open : record.firstPlacedAt) ?? placedAt;
  if (from === null || record.spec.timeout === undefined) return undefined;
  return from + durationMs(record.spec.timeout);
}

/**
 * Whether the host of an attempt enforces the run's time limit. If it does, the control plane does not: the
 * clock of the control plane may have jumped, or the control plane may have been down.
 */
export function isTimedByHost(attempt: AttemptRecord | undefined): boolean {
  return attempt !== undefined && keepsTime(attempt.protocol) && attempt.startedAt !== null;
}

/** When a run that waits for a placement is given up. */
export function queueDeadline(state: AllocationState): Instant | undefined {
  const { record } = state;
  if (record?.spec.queueTimeout === undefined || openPlacement(state) !== null) return undefined;
  if (record.placeAt !== undefined || record.awaits !== undefined) return undefined;
  return record.waitingSince + durationMs(record.spec.queueTimeout);
}

/** The request to stop a run whose time limit was reached at `at`. */
export function timeIsOver({ spec }: AllocationRecord, at: Instant): StopRequest {
  const reason = `the time limit of ${spec.timeout} was reached`;
  return { state: "timedout", at, reason, by: "drover", failure: null };
}

/**
 * The request to stop a run without a placement because its time limit or its `queueTimeout` is over. Null:
 * neither is over. No host can enforce these limits.
 */
export function timeoutOfWait(state: Existing, now: Instant): StopRequest | null {
  const { record } = state;
  const deadline = deadlineOf(record, null);
  const queued = queueDeadline(state);
  const over = deadline !== undefined && now >= deadline;
  if (queued !== undefined && now >= queued && queued < (over ? deadline : Infinity)) {
    const reason = `no place was found within the queueTimeout of ${record.spec.queueTimeout}`;
    return { state: "failed", at: queued, reason, by: "drover", failure: "queue_timeout" };
  }
  return over ? timeIsOver(record, Math.max(deadline, record.waitingSince)) : null;
}

/**
 * Whether the time limit ended an attempt. A host that enforces time limits reports this. If its host does
 * not enforce them, or if the attempt never started, the end of the attempt is compared with the limit.
 */
export function hasTimedOut(
  record: AllocationRecord,
  placement: PlacementRecord,
  { isStopping, known }: Member,
  attempt: AttemptRecord,
  report: AttemptReport,
): boolean {
  if (report.timedOut === true) return true;
  const { finishedAt } = attempt;
  if (!isOver(attempt) || finishedAt === null || record.stopRequest !== null) return false;
  if (isTimedByHost(attempt)) return false;
  if (isStopping || known.restartOf !== undefined || attempt.stopped !== undefined) return false;
  if (attempt.unhealthy !== undefined) return false;
  if (attempt.startError !== null) return false;
  const deadline = deadlineOf(record, placement.from);
  return deadline !== undefined && finishedAt >= deadline;
}
