// What is stored of each hour of a pool (pool.md#hours)?
import type { Instant } from "../../../shared/machine.ts";
import type { Counts } from "../../histogram.ts";

/** The counter of runs that ended `complete` with another exit code than 0. */
export const FAILED_EXITS = "exits failed";

/** How a pool was at a moment. */
export interface PoolSample {
  at: Instant;
  queued: number;
  /** Of the run that has waited longest in the queue; null: none waits. */
  oldestAgeMs: number | null;
  pending: number;
  running: number;
  /** Machines by state. A state without machines is absent. */
  machines: Record<string, number>;
  /** How many machines the open placements fill together, each counted by its scarcest resource. */
  filled: number;
  /** What all machines cost an hour that may exist, and how many have no known price. */
  perHour: number;
  unpriced: number;
}

/** A closed hour, stored as one row. `at`: when it began. `counts`: what the counters have grown by. */
export interface HourRow {
  at: Instant;
  counts: Counts;
  samples: PoolSample[];
  /** Exit codes were counted in all of the hour. Absent: an earlier version counted some of it. */
  exits?: true;
}

/**
 * The hour that is still open, in the record. `base`: the counters at its beginning. `seen`: at the last look
 * that took a sample.
 */
export interface OpenHour {
  at: Instant;
  base: Counts;
  seen: Counts;
  samples: PoolSample[];
  exits?: true;
}
