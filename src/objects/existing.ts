import type { AllocationState, Existing } from "../core/allocation/state.ts";
import { stateOf } from "../core/allocation/summary.ts";
import { DroverError } from "../core/errors.ts";
import type { RunState } from "../schema/run.ts";

/** The run that there is. Throws `expired_run` if it was deleted, `unknown_run` if there never was one. */
export function existing(state: AllocationState, run: string): Existing {
  if (state.record !== null) return { ...state, record: state.record };
  if (state.tombstone !== undefined) throw expiredRun(run);
  throw new DroverError("unknown_run", `there is no run "${run}"`);
}

/** Nothing is left of the run but that there was one. */
function expiredRun(run: string): DroverError {
  const text = `the run "${run}" has been deleted; its id can be used again 30 days after that`;
  return new DroverError("expired_run", text);
}

/** Throws if a run of this name is there already, or was, with another submission than that of `hash`. */
export function refuseOther({ record, tombstone }: AllocationState, run: string, hash: string): void {
  if (tombstone !== undefined) throw expiredRun(run);
  if (record === null || record.hash === hash) return;
  throw new DroverError("run_exists", `a run "${run}" exists already, with another submission`);
}

/** Whether a wait for one of these states is over: it is in one, or can never be again. */
export function isSettled({ record }: AllocationState, states: RunState[]): boolean {
  if (record === null || record.ended) return true;
  // Only a start and an end can still come: a path is pending, running, end, or pending, end.
  const isOver = states.every((wanted) => wanted === "pending");
  return isOver || states.includes(stateOf(record));
}
