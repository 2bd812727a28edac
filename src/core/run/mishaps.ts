// What may go wrong in a run, as its pool counts it (tasks.md#metrics)?
import type { Hook } from "../spec.ts";

/** What went wrong in a run. All of it is nothing until the run has ended. */
export interface Mishaps {
  restarts: number;
  /** Attempts that ran out of memory. */
  oomKills: number;
  /** Tasks that have failed, by the part of the run's life in which they run. */
  taskFailures: Partial<Record<Hook, number>>;
  /** Attempts that could not be started: their host, its driver or a download failed. */
  startFailures: number;
}

/** What has gone wrong before a run has ended. */
export const NO_MISHAPS: Mishaps = { restarts: 0, oomKills: 0, taskFailures: {}, startFailures: 0 };

/** The parts of a run's life by which failures of tasks are counted. */
export const HOOKS = ["prestart", "main", "poststart", "poststop"] as const satisfies readonly Hook[];
