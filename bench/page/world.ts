// What is there to show? A generated pool with many live runs and workers, which changes when told to.
import type { RunSummary, WorkerSummary } from "../../src/generated/api.ts";
import { Chance } from "../../test/sim/rng.ts";

/** How large the world is. */
export interface Size {
  /** Runs that wait or run: so many at each time. */
  live: number;
  /** Runs that have ended before the world begins. */
  ended: number;
  workers: number;
}

/** A run or worker, and the number of its latest change. */
export type Change = { number: number } & ({ run: RunSummary } | { worker: WorkerSummary });

/** The name of the one pool. */
export const POOL = "default";
/** How many runs that have ended while it changes are kept: a pool's retention, in numbers. */
const KEPT = 20_000;
/** A change is about a worker this often. */
const WORKER_SHARE = 0.1;
const FAIL_SHARE = 0.05;
const TEAMS = ["red", "green", "blue", "core"];
const COMMANDS = ["make test", "npm run build", "cargo test --workspace", "python train.py --epochs 10"];

/** The world. The same seed tells the same story, but for its times. */
export class World {
  /** All runs by id, in the order of their submission. */
  readonly runs = new Map<string, RunSummary>();
  readonly workers = new Map<string, WorkerSummary>();
  #chance: Chance;
  /** The ids of runs that wait or run, in no order, so that one can be taken at random. */
  readonly #live: string[] = [];
  readonly #workerIds: string[] = [];
  /** The latest change of everything that is live, in the order of changes. */
  readonly #latest = new Map<string, Change>();
  #number = 0;
  #submitted = 0;

  constructor(size: Size, seed: number) {
    this.#chance = new Chance(seed);
    for (let n = 1; n <= size.workers; n += 1) this.#addWorker(n);
    for (let n = 0; n < size.ended; n += 1) this.#end(this.#start(this.#submit()));
    // What is live is the same however much has ended.
    this.#chance = new Chance(seed);
    // Nobody is told of what ended before the world began.
    for (const id of this.runs.keys()) this.#latest.delete(id);
    for (let n = 0; n < size.live; n += 1) {
      const run = this.#submit();
      this.#live.push(run.id);
      if (this.#chance.chance(0.5)) this.#start(run);
    }
  }

  /** The number of the latest change. */
  get number(): number {
    return this.#number;
  }

  /** What has changed after this number, oldest first; null: everything that is live. */
  after(number: number | null): Change[] {
    const all = [...this.#latest.values()];
    if (number !== null) return all.filter((change) => change.number > number);
    return all.filter((change) => "worker" in change || change.run.finishedAt === null);
  }

  /** Lets one thing change: a run starts or ends, and with its end another is submitted; or a worker. */
  change(): void {
    if (this.#chance.chance(WORKER_SHARE)) this.#changeWorker();
    else this.#changeRun();
  }

  #changeRun(): void {
    const at = this.#chance.between(0, this.#live.length - 1);
    const run = this.runs.get(this.#live[at] ?? "");
    if (run === undefined) return;
    if (run.state === "pending") {
      this.#start(run);
      return;
    }
    this.#end(run);
    this.#live[at] = this.#submit().id;
    this.#forget();
  }

  #submit(): RunSummary {
    this.#submitted += 1;
    const run: RunSummary = {
      id: `run-${this.#submitted}`,
      state: "pending",
      version: 1,
      project: "default",
      pool: POOL,
      labels: { team: this.#chance.pick(TEAMS) ?? "" },
      priority: 50,
      command: this.#chance.pick(COMMANDS) ?? "",
      exitCode: null,
      cost: { amount: 0, unpriced: 0, perHour: 0 },
      worker: null,
      submittedAt: new Date().toISOString(),
      startedAt: null,
      finishedAt: null,
    };
    return this.#putRun(run);
  }

  #start(run: RunSummary): RunSummary {
    const worker = this.#chance.pick(this.#workerIds) ?? null;
    const startedAt = new Date().toISOString();
    return this.#putRun({ ...run, state: "running", version: run.version + 1, worker, startedAt });
  }

  #end(run: RunSummary): void {
    const exitCode = this.#chance.chance(FAIL_SHARE) ? 1 : 0;
    const cost = { amount: 0.01, unpriced: 0, perHour: null };
    const finishedAt = new Date().toISOString();
    this.#putRun({ ...run, state: "complete", version: run.version + 1, exitCode, cost, finishedAt });
  }

  #putRun(run: RunSummary): RunSummary {
    this.runs.set(run.id, run);
    this.#note(run.id, { number: this.#next(), run });
    return run;
  }

  #addWorker(n: number): void {
    const id = `${POOL}-9b6c-${n}`;
    const now = new Date().toISOString();
    this.workers.set(id, {
      id,
      pool: POOL,
      project: null,
      state: "running",
      idleBehavior: "run",
      instanceType: "large",
      providerType: "large",
      own: false,
      instance: `i-${n}`,
      address: "192.0.2.1",
      price: 0.4,
      resources: { vcpus: 16, memoryBytes: 2 ** 36, diskBytes: 2 ** 38, gpus: 0 },
      runs: [],
      askedAt: now,
      readyAt: now,
      machine: "made",
      doubles: [],
      reason: "ready",
    });
    this.#workerIds.push(id);
  }

  #changeWorker(): void {
    const worker = this.workers.get(this.#chance.pick(this.#workerIds) ?? "");
    if (worker === undefined) return;
    const state = worker.state === "running" ? "idle" : "running";
    const changed: WorkerSummary = { ...worker, state, runs: [`run-${this.#submitted}`] };
    this.workers.set(worker.id, changed);
    this.#note(worker.id, { number: this.#next(), worker: changed });
  }

  #note(id: string, change: Change): void {
    this.#latest.delete(id);
    this.#latest.set(id, change);
  }

  #next(): number {
    this.#number += 1;
    return this.#number;
  }

  /** Drops the oldest ended run once more than `KEPT` have ended. */
  #forget(): void {
    if (this.runs.size <= KEPT + this.#live.length) return;
    for (const { id, finishedAt } of this.runs.values()) {
      if (finishedAt === null) continue;
      this.runs.delete(id);
      this.#latest.delete(id);
      return;
    }
  }
}
