import { type AllocationState, type Existing, openPlacement } from "../core/allocation/state.ts";
import { whyOf } from "../core/allocation/why.ts";
import { DroverError } from "../core/errors.ts";
import type { Why } from "../schema/run.ts";
import type { Peers } from "./stubs.ts";

/** The run that there is. Throws `expired_run` if it was deleted, `unknown_run` if there never was one. */
export function existing(state: AllocationState, run: string): Existing {
  if (state.record !== null) return { ...state, record: state.record };
  if (state.tombstone !== undefined) throw expiredRun(run);
  throw new DroverError("unknown_run", `there is no run "${run}"`);
}

/** Nothing is left of the run but that there was one. */
export function expiredRun(run: string): DroverError {
  const text = `the run "${run}" has been deleted; its id can be used again 30 days after that`;
  return new DroverError("expired_run", text);
}

/** Why a run is where it is: what its pool says of one that waits, and its worker of one that is placed. */
export async function explainRun(state: Existing, peers: Peers): Promise<Why> {
  const { record } = state;
  const placement = record.ended ? null : openPlacement(state);
  const waits = placement === null && !record.ended;
  const pool = waits ? await peers.pool(record.spec.pool).explain(record.id) : null;
  const worker = placement === null ? null : await peers.worker(placement.worker).why();
  return whyOf(state, pool ?? worker, placement?.worker ?? null);
}
