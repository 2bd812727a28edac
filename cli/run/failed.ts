// Has a run failed, as people see it, and how does a list show that?
import type { RunSummary } from "../../client/types.ts";
import type { Cell } from "../terminal/text.ts";

/**
 * Whether a run has failed, to people: its command ended with another code than 0, or it ended without an end
 * of its command. Who aborts a run has not seen it fail.
 */
export function hasFailed({ state, exitCode }: Pick<RunSummary, "state" | "exitCode">): boolean {
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

/** The state and the exit code of a run, for a list (cli.md#color). */
export function stateCells(run: Pick<RunSummary, "state" | "exitCode">): [state: Cell, exit: Cell] {
  const { state, exitCode } = run;
  const exit = exitCode === null ? "" : String(exitCode);
  return hasFailed(run) ? [{ failed: state }, { failed: exit }] : [state, exit];
}
