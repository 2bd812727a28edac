import type { EndedRun, RunState, RunStatus, WorkerState } from "./types.ts";

// Lists and not schemas, whose values would bring the whole validator along.

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

/** Whether a run stays as it is. */
export function hasEnded(run: RunStatus): run is EndedRun {
  return run.state !== "pending" && run.state !== "running";
}
