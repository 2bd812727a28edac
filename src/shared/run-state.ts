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

/**
 * Whether a run has failed, to people: its command ended with another code than 0, or it ended without an end
 * of its command (api.md#finding). Who aborts a run wants its end, so an aborted run has not failed.
 */
export function hasFailed({ state, exitCode }: { state: RunState; exitCode: number | null }): boolean {
  switch (state) {
    case "complete":
      return exitCode !== null && exitCode !== 0;
    case "failed":
    case "timedout":
    case "unknown":
      return true;
    case "pending":
    case "running":
    case "aborted":
      return false;
  }
}

/** The states of a worker. */
export const WORKER_STATES = ["unknown", "booting", "idle", "running", "shutdown", "gone"] as const;
/** The states of a worker that has not ended. */
export const PRESENT_STATES = WORKER_STATES.filter((state) => state !== "gone");
