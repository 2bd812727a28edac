// Which states do runs and workers have in the API?

/** The states of a run, in the order of their numbers (api.md#states). */
export const RUN_STATES = [
  "unknown",
  "pending",
  "running",
  "complete",
  "failed",
  "aborted",
  "timedout",
] as const;
export type RunState = (typeof RUN_STATES)[number];

/** The states in which a run has ended. */
export type EndState = Exclude<RunState, "pending" | "running">;

/** Whether a run in this state has ended. */
export function isTerminal(state: RunState): state is EndState {
  return state !== "pending" && state !== "running";
}

/** The states of a worker. */
export const WORKER_STATES = ["unknown", "booting", "idle", "running", "shutdown", "gone"] as const;
