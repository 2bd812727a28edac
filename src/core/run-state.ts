/** The states of a run, in the order of their numbers (`scoot.md` §1.1). */
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

/** Whether a run in this state stays in it: all but `pending` and `running`. */
export function isTerminal(state: RunState): boolean {
  return state !== "pending" && state !== "running";
}
