// When is a run placed again after its placement failed, and after which delay?
import { formatDuration } from "../../../shared/duration.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { ReschedulePolicy } from "../../../shared/policy.ts";
import type { RunDraft } from "../draft.ts";
import { type AllocationRecord, newTask, type RescheduleEvent } from "../state.ts";
import { preferredWorker } from "./sticky.ts";

/** How many reschedules of a run are remembered (restart.md#kept). */
export const MAX_RESCHEDULES_KEPT = 50;

/** The delay before the next placement (restart.md#next-delay). */
export function nextDelay(policy: ReschedulePolicy, events: RescheduleEvent[], failedAt: Instant): Millis {
  const { delayMs, maxDelayMs } = policy;
  const last = events.at(-1);
  if (last === undefined) return delayMs;
  const delay = grownDelay(policy, last.delayMs, events.at(-2)?.delayMs);
  if (maxDelayMs === 0 || delay <= maxDelayMs) return delay;
  // If the run then ran for longer than the longest delay, earlier failures no longer count.
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

/** Whether a run whose placement failed at `failedAt` may be placed again (restart.md#eligible). */
export function mayReschedule(
  policy: ReschedulePolicy,
  events: RescheduleEvent[],
  failedAt: Instant,
): boolean {
  if (policy.unlimited) return true;
  const recent = events.filter((event) => failedAt - event.at < policy.intervalMs);
  return recent.length < policy.attempts && nextDelay(policy, events, failedAt) < policy.intervalMs;
}

/** The reschedules that the policy still counts, up to a maximum number. */
function trimEvents(policy: ReschedulePolicy, events: RescheduleEvent[], at: Instant): RescheduleEvent[] {
  const recent = policy.unlimited ? events : events.filter((event) => at - event.at < policy.intervalMs);
  return recent.slice(policy.unlimited ? -UNLIMITED_KEPT : -MAX_RESCHEDULES_KEPT);
}

/** How many reschedules are kept for a policy without a limit (restart.md#kept). */
const UNLIMITED_KEPT = 5;

/**
 * Prepares a run for its next epoch after an epoch was closed. `failedAt`: when the epoch's last task ended.
 */
export function reschedule(run: RunDraft, worker: string, failedAt: Instant): void {
  const { record, now } = run;
  const { reschedule: policy } = run.view.group;
  const delayMs = nextDelay(policy, record.reschedules, failedAt);
  const events = [...record.reschedules, { at: failedAt, delayMs, worker }];
  run.set({
    outcome: null,
    reschedules: trimEvents(policy, events, failedAt),
    // The delay counts from the failure, not from when the failure becomes known.
    ...(failedAt + delayMs > now ? { placeAt: failedAt + delayMs } : { waitingSince: now }),
  });
  resetTasks(run);
  const delay = formatDuration(delayMs);
  const where =
    preferredWorker(record) === worker
      ? `on worker ${worker}, which keeps its data, if possible`
      : `on a worker other than ${worker}, if there is one`;
  const text = `it is placed again in ${delay}, ${where}`;
  run.note("Rescheduling", failedAt, text, { details: { worker, delay } });
}

/** Resets the tasks for the next epoch. */
export function resetTasks(run: RunDraft): void {
  const tasks = run.record.tasks.map(({ name, attempts, restarts, lastRestart }) => ({
    ...newTask(name),
    attempts,
    restarts,
    lastRestart,
  }));
  run.set({ kill: undefined, stage: undefined, tasks });
}

/** The workers on which the run last failed. The run avoids these workers if there is any other worker. */
export function avoidedWorkers({ reschedules }: AllocationRecord): string[] {
  return [...new Set(reschedules.slice(-UNLIMITED_KEPT).map(({ worker }) => worker))];
}
