import { formatDuration } from "../../../shared/duration.ts";
import { MAX_RESCHEDULES_KEPT } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { ReschedulePolicy } from "../../../shared/policy.ts";
import { addEvent } from "../read/events.ts";
import type { AllocationRecord, RescheduleEvent } from "../state.ts";
import { groupOfRun } from "../tasks/tasks.ts";
import { freshEpoch } from "./placement.ts";
import { preferredWorker } from "./sticky.ts";

/** The wait before the next placement (restart.md#next-delay). */
export function nextDelay(policy: ReschedulePolicy, events: RescheduleEvent[], failedAt: Instant): Millis {
  const { delayMs, maxDelayMs } = policy;
  const last = events.at(-1);
  if (last === undefined) return delayMs;
  const delay = grownDelay(policy, last.delayMs, events.at(-2)?.delayMs);
  if (maxDelayMs === 0 || delay <= maxDelayMs) return delay;
  // Since its wait was over it lasted for longer than the longest wait: what went wrong before is over.
  return failedAt - (last.at + last.delayMs) > maxDelayMs ? delayMs : maxDelayMs;
}

function grownDelay(policy: ReschedulePolicy, last: Millis, before: Millis | undefined): Millis {
  const { delayMs, maxDelayMs } = policy;
  switch (policy.function) {
    case "constant":
      return delayMs;
    case "exponential":
      return 2 * last;
    case "fibonacci": {
      if (before === undefined) return delayMs;
      const reset = before === maxDelayMs && last === delayMs;
      return reset ? delayMs : last + before;
    }
  }
}

/** Whether a run may be placed anew whose placement failed at `failedAt` (restart.md#eligible). */
export function mayReschedule(
  policy: ReschedulePolicy,
  events: RescheduleEvent[],
  failedAt: Instant,
): boolean {
  if (policy.unlimited) return true;
  const recent = events.filter((event) => failedAt - event.at < policy.intervalMs);
  return recent.length < policy.attempts && nextDelay(policy, events, failedAt) < policy.intervalMs;
}

/** Which events are remembered: all that the policy looks at, and no more than a bound. */
function remembered(policy: ReschedulePolicy, events: RescheduleEvent[], at: Instant): RescheduleEvent[] {
  const recent = policy.unlimited ? events : events.filter((event) => at - event.at < policy.intervalMs);
  return recent.slice(policy.unlimited ? -UNLIMITED_KEPT : -MAX_RESCHEDULES_KEPT);
}

/** Events kept where there may be endlessly many (restart.md#kept). */
const UNLIMITED_KEPT = 5;

/**
 * A run of which an epoch has just been closed, on its way to the next one; null if its policy has none for
 * it. `failedAt`: when its last task ended.
 */
export function rescheduled(
  closed: AllocationRecord,
  worker: string,
  failedAt: Instant,
  now: Instant,
): AllocationRecord | null {
  const { reschedule: policy } = groupOfRun(closed);
  const events = closed.reschedules ?? [];
  if (!mayReschedule(policy, events, failedAt)) return null;
  const delayMs = nextDelay(policy, events, failedAt);
  const next: AllocationRecord = {
    ...freshEpoch(closed),
    outcome: null,
    reschedules: remembered(policy, [...events, { at: failedAt, delayMs, worker }], failedAt),
    // The delay counts from the failure: what was heard late has waited by then.
    ...(failedAt + delayMs > now ? { placeAt: failedAt + delayMs } : { waitingSince: now }),
  };
  const delay = formatDuration(delayMs);
  const where =
    preferredWorker(closed) === worker
      ? `on worker ${worker}, which keeps its data, if that can take it`
      : `on another worker than ${worker} if there is one`;
  const text = `it is placed anew in ${delay}, ${where}`;
  return addEvent(next, "Rescheduling", failedAt, text, { details: { worker, delay } });
}

/** The workers that a run is not to be placed on if there is any other: those it failed on. */
export function avoidedWorkers({ reschedules = [] }: AllocationRecord): string[] {
  return [...new Set(reschedules.slice(-UNLIMITED_KEPT).map(({ worker }) => worker))];
}
