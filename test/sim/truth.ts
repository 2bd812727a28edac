import { allocationFrom } from "../../src/core/allocation/load.ts";
import { hasHeardPool } from "../../src/core/allocation/machine.ts";
import { whyOf as whyOfRun } from "../../src/core/allocation/read/why.ts";
import { type AllocationState, openPlacement } from "../../src/core/allocation/state.ts";
import { runKey } from "../../src/core/pool/record.ts";
import { Rows } from "../../src/core/rows.ts";
import { whyOf as whyOfWorker } from "../../src/core/worker/read/status.ts";
import {
  type ExistingWorker,
  isLivePlacement,
  type PlacementRow,
  TRACKED_OF_PLACEMENTS,
  type WorkerState,
} from "../../src/core/worker/state.ts";
import type { Why } from "../../src/schema/why.ts";
import { placementKey } from "../../src/shared/attempt-id.ts";
import { MapDisk } from "../core/support/map-disk.ts";
import { lieOfRun } from "../core/support/truth-of-runs.ts";
import { lieOfWorker } from "../core/support/truth-of-workers.ts";
import type { Objects } from "./objects.ts";
import type { World } from "./world.ts";

/** One look in so many steps: each lets a run and a worker come to what they promise. */
const EVERY_STEPS = 25;
/**
 * Alarms are lost, and given up where a full disk fails them for long. What was promised comes when the
 * object is asked how it is: after a lease of silence, at one of the next ticks of the cron.
 */
const LATE_MS = 45 * 60_000;

/**
 * Asks runs and workers now and then why they are as they are, and compares that with what follows: by the
 * machines themselves, where nothing else happens, and by what has happened since.
 */
export class Truth {
  readonly #world: World;
  readonly #objects: Objects;
  #steps = 0;

  constructor(world: World, objects: Objects) {
    this.#world = world;
    this.#objects = objects;
  }

  afterStep(): void {
    this.#steps += 1;
    if (this.#steps % EVERY_STEPS !== 0) return;
    const look = this.#steps / EVERY_STEPS;
    const run = pick([...this.#objects.allocations.values()], look);
    const known = run?.peek();
    if (run !== undefined && known !== undefined) {
      this.#lookAtRun(run.name, known);
      // A reader may come when it was evicted.
      this.#lookForPlace(run.name, allocationFrom(run.disk.value, null, this.#world.planeNow));
    }
    const worker = pick([...this.#objects.workers.values()], look);
    const state = worker?.peek();
    if (worker !== undefined && state !== undefined) this.#lookAtWorker(worker.name, state);
  }

  #lookAtRun(name: string, state: AllocationState): void {
    const { record } = state;
    if (record === null) return;
    const { planeNow: now } = this.#world;
    const run = { ...state, record };
    const lie = lieOfRun(run, null, now);
    if (lie !== undefined) this.#world.violated(`5: ${name} lies: ${lie}`, name);
    this.#hasCome(name, whyOfRun(run, null, openPlacement(state)?.worker ?? null, now));
  }

  /** A run that would answer a reader knows its place, if its pool knows that it was told. */
  #lookForPlace(name: string, state: AllocationState): void {
    if (state.record === null || !hasHeardPool(state) || openPlacement(state) !== null) return;
    const { id, submittedAt, ended, endedEpoch } = state.record;
    const pool = this.#objects.pool.peek();
    const key = runKey(submittedAt, id);
    const row = pool?.runs.get(key);
    if (ended || pool === undefined || row === undefined || pool.memo.index.unacknowledged.has(key)) return;
    if (row.opened > Math.max(row.ended, endedEpoch))
      this.#world.violated(`5: ${name} says that it waits for a place, and has one`, name);
  }

  #lookAtWorker(name: string, state: WorkerState): void {
    const { record } = state;
    if (record === null) return;
    const { planeNow: now } = this.#world;
    const worker = { ...state, record };
    const lie = lieOfWorker(worker, copyOf, now);
    if (lie !== undefined) this.#world.violated(`5: ${name} lies: ${lie}`, name);
    this.#hasCome(name, whyOfWorker(worker, now));
  }

  /** What was said to come has come, or it would not still be said. */
  #hasCome(name: string, { reason, next }: Why): void {
    // Where nothing can be stored nothing can come.
    const lateMs = LATE_MS + this.#world.readOnlyMs;
    if (next.at === null || Date.parse(next.at) > this.#world.planeNow - lateMs) return;
    this.#world.violated(`5: ${name} is ${reason.code}, and should long "${next.action}" (${next.at})`, name);
  }
}

function pick<One>(all: readonly One[], n: number): One | undefined {
  return all[n % Math.max(1, all.length)];
}

/** The state with a table of its own: what is tried on it is forgotten. */
function copyOf(state: ExistingWorker): ExistingWorker {
  const placements = new Rows(new MapDisk<PlacementRow>(), isLivePlacement, TRACKED_OF_PLACEMENTS);
  for (const row of state.placements.live()) placements.set(placementKey(row.run, row.epoch), row, 0);
  placements.flush();
  return { ...state, placements };
}
