// How does a list show that a run has failed?
import type { RunSummary } from "../../client/types.ts";
import { hasFailed } from "../../src/shared/run-state.ts";
import type { Cell } from "../terminal/text.ts";

/** The state and the exit code of a run, for a list (cli.md#color). */
export function stateCells(
  run: Pick<RunSummary, "state" | "exitCode" | "keptUntil">,
): [state: Cell, exit: Cell] {
  const { exitCode, keptUntil } = run;
  const state = keptUntil === undefined ? run.state : `${run.state} (kept)`;
  const exit = exitCode === null ? "" : String(exitCode);
  return hasFailed(run) ? [{ failed: state }, { failed: exit }] : [state, exit];
}
