import { type Existing, openPlacement } from "../core/allocation/state.ts";
import { whyOf } from "../core/allocation/why.ts";
import type { Why } from "../schema/run.ts";
import type { Peers } from "./stubs.ts";

/** Why a run is as it is: what it knows itself, and what the one says that it waits for. */
export async function whyOfRun(state: Existing, peers: Peers): Promise<Why> {
  const { record } = state;
  const placement = record.ended ? null : openPlacement(state);
  const waits = placement === null && !record.ended;
  const pool = waits ? await peers.pool(record.spec.pool).explain(record.id) : null;
  const worker = placement === null ? null : await peers.worker(placement.worker).why();
  return whyOf(state, pool ?? worker, placement?.worker ?? null);
}
