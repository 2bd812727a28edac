import type { Instant } from "../../../shared/machine.ts";
import type { AllocationRecord } from "../state.ts";

/**
 * When the open epoch failed, or is to be taken to have: the end of its last task, and `at` if one has none
 * (tasks.md#never-ran, restart.md#fail-time).
 */
export function failTime({ tasks }: AllocationRecord, at: Instant): Instant {
  return Math.max(...tasks.map(({ dead }) => dead?.at ?? at));
}

/** When the last attempt of an epoch ended, as far as that is known; undefined if there was none. */
export function endOfTasks({ tasks }: AllocationRecord, epoch: number): Instant | undefined {
  const attempts = tasks.flatMap((task) => task.attempts).filter((one) => one.epoch === epoch);
  return attempts.length === 0 ? undefined : Math.max(...attempts.map(({ finishedAt }) => finishedAt ?? 0));
}
