import { hasHeardPool } from "../../core/allocation/machine.ts";
import { statsOf } from "../../core/allocation/read/stats.ts";
import { whyOf } from "../../core/allocation/read/why.ts";
import { type AllocationState, type Existing, openPlacement } from "../../core/allocation/state.ts";
import type { RunStats } from "../../schema/run/stats.ts";
import type { Why } from "../../schema/why.ts";
import { PLACE_KNOWN_MS } from "../../shared/limits.ts";
import { droverNow } from "../clock.ts";
import type { Peers } from "../messages/stubs.ts";
import { until, type Watchable } from "../waiting.ts";
import { existing } from "./existing.ts";

/** The run, after a moment for the word of its pool if only the pool may know where it is. */
export async function placedRun(
  { record }: Existing,
  actor: Watchable & { readonly state: AllocationState },
): Promise<Existing> {
  await until(actor, () => hasHeardPool(actor.state), PLACE_KNOWN_MS);
  return existing(actor.state, record.id);
}

/** Why a run is as it is: what it knows itself, and what the one says that it waits for. */
export async function explainRun(state: Existing, peers: Peers): Promise<Why> {
  const { record } = state;
  const placement = record.ended ? null : openPlacement(state);
  const waits = placement === null && !record.ended;
  const pool = waits ? await peers.pool(record.spec.pool).explain(record.id) : null;
  const worker = placement === null ? null : await peers.worker(placement.worker).why(record.id);
  return whyOf(state, pool ?? worker, placement?.worker ?? null, droverNow());
}

/** What a run uses. Only its worker knows, from its host; a run without a place uses nothing. */
export async function statsOfRun(state: Existing, peers: Peers, task: string | undefined): Promise<RunStats> {
  const nothing = statsOf(state, null, task);
  const placement = state.record.ended ? null : openPlacement(state);
  if (placement === null || nothing.tasks.every(({ attempt }) => attempt === null)) return nothing;
  return statsOf(state, await peers.worker(placement.worker).usage(state.record.id), task);
}
