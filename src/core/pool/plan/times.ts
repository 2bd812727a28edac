// When does a plan change although nothing happens?
import type { PoolConfig } from "../../../schema/pool.ts";
import { durationMs } from "../../../shared/duration.ts";
import { earliest, type Instant } from "../../../shared/machine.ts";
import type { RunRow, WorkerRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";

/** The next time after `now` at which the plan changes without an event. */
export function changesAt({ record, workers, memo }: ReadonlyConfigured, now: Instant): Instant | undefined {
  const times = workers.derive(timesOf).filter((at) => at > now);
  for (const { until } of record.holds) if (until !== null && until > now) times.push(until);
  return earliest(...times, patienceEndsAt(record.config, memo.index.queue, now));
}

/** When the next waiting run has waited long enough for an on-demand twin. Undefined: none will. */
export function patienceEndsAt(
  { instanceTypes, spotPatience }: PoolConfig,
  queue: readonly RunRow[],
  now: Instant,
): Instant | undefined {
  if (!Object.values(instanceTypes).some(({ fallback }) => fallback !== undefined)) return undefined;
  const patienceMs = durationMs(spotPatience);
  return earliest(...queue.map((run) => run.submittedAt + patienceMs).filter((at) => at > now));
}

/** The times in the workers' rows on which a plan depends. */
function timesOf(workers: readonly WorkerRow[]): Instant[] {
  const times: Instant[] = [];
  for (const row of workers) {
    for (const at of [row.stopUntil, row.pausedUntil]) if (at > 0) times.push(at);
    if (row.phase === "shutdown") times.push(leavesUntil(row));
  }
  return times;
}

/**
 * After this time, a machine that still exists no longer counts as leaving, and another machine is evicted.
 */
const LEAVING_COUNTS_MS = 5 * 60_000;

/** When a leaving machine stops counting as leaving, so that another machine may be evicted. */
export function leavesUntil(row: WorkerRow): Instant {
  return row.endingAt === null ? row.stopUntil : row.endingAt + LEAVING_COUNTS_MS;
}
