import type { PoolConfig } from "../../schema/pool.ts";
import type { Instant, Millis } from "../machine.ts";
import { type Configured, providedWorkers, type WorkerRow } from "./state.ts";

const SECOND_MS: Millis = 1_000;

/**
 * When the next machine may be asked for, so that in no second the provider gets more calls than
 * `maxCloudOpsPerSecond` (D8). A query over rows: the creates that are told or to be told, the destroys, and
 * the latest listing. Destroys and listings wait for nothing, and creates for all of them.
 */
export function nextCreateAt(state: Configured, now: Instant): Instant {
  const rate = rateOf(state.record.config);
  if (rate === undefined) return now;
  const calls = [state.memo.sweptAt ?? 0];
  for (const row of providedWorkers(state)) {
    calls.push(row.tellAt ?? row.askedAt);
    if (row.phase === "shutdown") calls.push(row.heardAt);
  }
  // Of the latest so many, the first must be a second old.
  const nth = calls.sort((a, b) => b - a)[rate - 1];
  return nth === undefined ? now : Math.max(now, nth + SECOND_MS);
}

/** A configuration that an older version has stored names no limit. */
function rateOf({ maxCloudOpsPerSecond }: Partial<PoolConfig>): number | undefined {
  return maxCloudOpsPerSecond;
}

/**
 * When a worker that was asked for is told so: in its turn, and not while the provider wants a pause. That
 * of a machine of one's own at once: no provider is asked for it.
 */
export function tellAtOf({ record }: Configured, row: WorkerRow): Instant {
  if (row.own !== undefined) return row.askedAt;
  const paused = record.holds.filter(
    ({ cause, scope }) => scope === "all" && (cause === "rate_limit" || cause === "temporary"),
  );
  return Math.max(row.tellAt ?? 0, ...paused.map((hold) => hold.until ?? 0));
}
