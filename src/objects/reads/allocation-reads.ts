// How does an allocation answer reads that must wait or ask other objects?
import { hasHeardPool } from "../../core/allocation/machine.ts";
import { statsOf } from "../../core/allocation/read/stats.ts";
import { whyOf } from "../../core/allocation/read/why.ts";
import { type AllocationState, type Existing, openPlacement } from "../../core/allocation/state.ts";
import type { RunState } from "../../schema/run/run.ts";
import type { RunStats } from "../../schema/run/stats.ts";
import type { Why } from "../../schema/why.ts";
import { droverNow } from "../clock.ts";
import type { Peers } from "../messages/stubs.ts";
import type { AllocationApi } from "../rpc.ts";
import { until, type Watchable } from "../waiting.ts";
import { existing, isSettled } from "./existing.ts";

/** How long a reader of a run waits for its pool to say where the run is. */
export const PLACE_KNOWN_MS = 1_000;

/** The run; waits a moment for its pool if perhaps only the pool knows where the run is placed. */
export async function placedRun(
  { record }: Existing,
  actor: Watchable & { readonly state: AllocationState },
): Promise<Existing> {
  await until(actor, () => hasHeardPool(actor.state), PLACE_KNOWN_MS);
  return existing(actor.state, record.id);
}

/** The run once it is in one of these states or can no longer be, or after `waitMs` (api.md#waiting). */
export async function settledRun(
  { record }: Existing,
  actor: Watchable & { readonly state: AllocationState },
  states: RunState[],
  waitMs: number,
): Promise<Existing> {
  await until(actor, () => isSettled(actor.state, states), waitMs);
  return existing(actor.state, record.id);
}

/** The run's events after number `after`; waits up to `waitMs` for one (api.md#run-events). */
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

/** Why a run is in its state: as it knows itself, and as its pool or worker says. */
export async function explainRun(state: Existing, peers: Peers): Promise<Why> {
  const { record } = state;
  const placement = record.ended ? null : openPlacement(state);
  const waits = placement === null && !record.ended;
  const pool = waits ? await peers.pool(record.spec.pool).explain(record.id) : null;
  const worker = placement === null ? null : await peers.worker(placement.worker).why(record.id);
  return whyOf(state, pool ?? worker, placement?.worker ?? null, droverNow());
}

/** What a run uses. Only its worker knows, through the host; a run without a placement uses nothing. */
export async function statsOfRun(state: Existing, peers: Peers, task: string | undefined): Promise<RunStats> {
  const nothing = statsOf(state, null, task);
  const placement = state.record.ended ? null : openPlacement(state);
  if (placement === null || nothing.tasks.every(({ attempt }) => attempt === null)) return nothing;
  return statsOf(state, await peers.worker(placement.worker).usage(state.record.id), task);
}
