import { hasHeardPool } from "../../core/allocation/machine.ts";
import { statsOf } from "../../core/allocation/read/stats.ts";
import { whyOf } from "../../core/allocation/read/why.ts";
import { type AllocationState, type Existing, openPlacement } from "../../core/allocation/state.ts";
import type { RunState } from "../../schema/run/run.ts";
import type { RunStats } from "../../schema/run/stats.ts";
import type { Why } from "../../schema/why.ts";
import { PLACE_KNOWN_MS } from "../../shared/limits.ts";
import { droverNow } from "../clock.ts";
import type { Peers } from "../messages/stubs.ts";
import type { AllocationApi } from "../rpc.ts";
import { until, type Watchable } from "../waiting.ts";
import { existing, isSettled } from "./existing.ts";

/** The run, after a moment for the word of its pool if only the pool may know where it is. */
export async function placedRun(
  { record }: Existing,
  actor: Watchable & { readonly state: AllocationState },
): Promise<Existing> {
  await until(actor, () => hasHeardPool(actor.state), PLACE_KNOWN_MS);
  return existing(actor.state, record.id);
}

/** The run when it is in one of these states, or can never be again, or the time is over (api.md#waiting). */
export async function settledRun(
  { record }: Existing,
  actor: Watchable & { readonly state: AllocationState },
  states: RunState[],
  waitMs: number,
): Promise<Existing> {
  await until(actor, () => isSettled(actor.state, states), waitMs);
  return existing(actor.state, record.id);
}

/** Its events with a number above `after`, for which the answer is held (api.md#run-events). */
export async function eventsAfter(
  state: Existing,
  actor: Watchable & { readonly state: AllocationState },
  after: number,
  waitMs: number,
): ReturnType<AllocationApi["events"]> {
  const now = () => existing(actor.state, state.record.id).record;
  const newer = () => now().events.filter((event) => event.seq > after);
  await until(actor, () => newer().length > 0 || now().ended, waitMs);
  const { eventsDropped, ended } = now();
  return { items: newer(), dropped: eventsDropped, ended };
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
