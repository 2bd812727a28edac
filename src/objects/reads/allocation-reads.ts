// How does an allocation answer reads that must wait, or that need answers of other objects?
import { statsOf } from "../../core/allocation/read/stats.ts";
import { whyOf } from "../../core/allocation/read/why.ts";
import { type AllocationState, type Existing, openPlacement } from "../../core/allocation/state.ts";
import type { RunBoot } from "../../schema/run/boot.ts";
import type { RunStats } from "../../schema/run/stats.ts";
import type { Why } from "../../schema/why.ts";
import { droverNow } from "../clock.ts";
import type { Peers } from "../messages/stubs.ts";

/** Whether a request for a run's events after number `after` need not wait (api.md#run-events). */
export function hasEvents({ record }: AllocationState, after: number): boolean {
  return record === null || record.ended || record.events.some(({ seq }) => seq > after);
}

/** Why a run is in its state: what the run itself knows, and what its pool or worker says. */
export async function explainRun(state: Existing, peers: Peers): Promise<Why> {
  const { record } = state;
  const placement = openPlacement(state);
  const waits = placement === null && !record.ended;
  const asked = waits ? await peers.pool(record.spec.pool).explain(record.id) : null;
  const pool = asked === null ? null : await withBoot(asked, peers);
  const worker = placement === null ? null : await peers.worker(placement.worker).why(record.id);
  return whyOf(state, pool ?? worker, placement?.worker ?? null, droverNow());
}

/**
 * What the pool says, with the words of the worker that boots for the run. Only the worker knows how far its
 * machine is: each step of a boot would otherwise cost the pool a message.
 */
async function withBoot(pool: Why, peers: Peers): Promise<Why> {
  const last = pool.chain.at(-1);
  const worker = last?.state === "booting" ? /^worker (\S+)$/.exec(last.what)?.[1] : undefined;
  if (last === undefined || worker === undefined) return pool;
  const said = await peers
    .worker(worker)
    .why()
    .catch(() => undefined);
  if (said?.state !== "booting") return pool;
  return { ...pool, chain: [...pool.chain.slice(0, -1), { ...last, text: said.reason.text }] };
}

/** The CPU and memory that a run uses. Only its worker knows them; a run without a placement uses nothing. */
export async function statsOfRun(state: Existing, peers: Peers, task: string | undefined): Promise<RunStats> {
  const nothing = statsOf(state, null, task);
  const placement = state.record.ended ? null : openPlacement(state);
  if (placement === null || nothing.tasks.every(({ attempt }) => attempt === null)) return nothing;
  return statsOf(state, await peers.worker(placement.worker).usage(state.record.id), task);
}

/**
 * How the machine of the latest placement has booted (api.md#boot-of-a-run). What the script itself has
 * written is left out: it is for the operators of the machine. Null: there is no placement, or its worker
 * does not answer, which is no reason to withhold the run.
 */
export async function bootOfRun(state: Existing, peers: Peers): Promise<RunBoot | null> {
  const placement = openPlacement(state) ?? state.record.placements.at(-1);
  if (placement === undefined) return null;
  const worker = await peers
    .worker(placement.worker)
    .read()
    .catch(() => null);
  if (worker === null) return null;
  const { id, state: now, instanceType, price, askedAt, createdAt, joinedAt, readyAt, boot = [] } = worker;
  const steps = boot.filter(({ step }) => step !== "output");
  return { worker: id, state: now, instanceType, price, askedAt, createdAt, joinedAt, readyAt, steps };
}
