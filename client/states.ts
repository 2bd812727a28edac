// Which states can a run and a worker have, and which are final?
import type { EndedRun, RunState, RunStatus, WorkerState } from "./types.ts";

// Plain lists: importing the schemas would bundle the validator.

/** Every state of a run, in the order of their numbers (api.md#states). */
export const RUN_STATE_NAMES = [
  "unknown",
  "pending",
  "running",
  "complete",
  "failed",
  "aborted",
  "timedout",
] as const satisfies readonly RunState[];

/** Every state of a worker. */
export const WORKER_STATE_NAMES = [
  "unknown",
  "booting",
  "idle",
  "running",
  "shutdown",
  "gone",
] as const satisfies readonly WorkerState[];

/** Whether a run has ended. */
export function hasEnded(run: RunStatus): run is EndedRun {
  return run.state !== "pending" && run.state !== "running";
}
