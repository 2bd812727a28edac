import type { RunState } from "../src/schema/run.ts";

/** Every state of a run, in the order of their numbers (`api.md`, States). */
export const RUN_STATE_NAMES: readonly RunState[] = [
  "unknown",
  "pending",
  "running",
  "complete",
  "failed",
  "aborted",
  "timedout",
];

/** Whether a run in this state stays in it. */
export function hasEnded(state: RunState): boolean {
  return state !== "pending" && state !== "running";
}
