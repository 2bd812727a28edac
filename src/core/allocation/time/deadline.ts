import { durationMs } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { AllocationRecord, AttemptRecord } from "../state.ts";

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
