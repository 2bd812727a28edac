// Has a run ended?
import type { EndedRun, RunStatus } from "./types.ts";

/** Whether a run has ended. */
export function hasEnded(run: RunStatus): run is EndedRun {
  return run.state !== "pending" && run.state !== "running";
}
