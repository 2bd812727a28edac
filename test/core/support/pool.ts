import { nothingExported } from "../../../src/core/audit/export.ts";
import type { RunUpsert, WorkerUpsert } from "../../../src/core/messages.ts";
import { loadedPool } from "../../../src/core/pool/load.ts";
import { type PoolEvent, type PoolMessage, poolMachine } from "../../../src/core/pool/machine.ts";
import type { HourRow } from "../../../src/core/pool/past/hour-record.ts";
import type { Plan } from "../../../src/core/pool/plan/pass.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import {
  type Hold,
  isLiveRun,
  isLiveWorker,
  NO_TALLY,
  NOTHING_SAID,
  type RunRow,
  runKey,
  settingsOf,
  type WorkerRow,
} from "../../../src/core/pool/record.ts";
import { answerRun } from "../../../src/core/pool/rows/runs.ts";
import type { Configured, PoolState } from "../../../src/core/pool/state.ts";
import { Rows } from "../../../src/core/rows.ts";
import type { Resources } from "../../../src/schema/common.ts";
import type { PoolConfig, PoolConfigInput } from "../../../src/schema/pool.ts";
import { applied } from "./applied.ts";
import { auditTable } from "./audit.ts";
import { MapDisk } from "./map-disk.ts";
import { poolConfig } from "./pool-config.ts";

/** When the pool of every story here begins. */
export const T0 = Date.UTC(2026, 10, 21, 8, 30);
export const MINUTE = 60_000;
export const NEED: Resources = { vcpus: 1, memoryBytes: 1_000, diskBytes: 0, gpus: 0 };

/** A table of hours that are over. */
export function hoursTable(disk = new MapDisk<HourRow>()): Rows<HourRow> {
  return new Rows(disk, () => false);
}

/** A pool, loaded from its stored tables. */
export function pool(
  record: Parameters<typeof loadedPool>[0],
  runs: RunRow[] = [],
  workers: WorkerRow[] = [],
): PoolState {
  const runDisk = new MapDisk<RunRow>();
  for (const row of runs) runDisk.write(runKey(row.submittedAt, row.run), row, isLiveRun(row), T0);
  const workerDisk = new MapDisk<WorkerRow>();
  for (const row of workers) workerDisk.write(row.worker, row, isLiveWorker(row), T0);
  const tables = [new Rows(runDisk, isLiveRun), new Rows(workerDisk, isLiveWorker), auditTable()] as const;
  return loadedPool(record, ...tables, hoursTable());
}

export function recordOf(config: PoolConfig): NonNullable<PoolState["record"]> {
  const exported = nothingExported(T0);
  const fresh = { nextWorker: 1, holds: [], tally: NO_TALLY, emptySweptAt: T0, exported, followers: {} };
  return { name: "default", revision: 1, config, seed: "s", ...fresh };
}

/** The name and the usual configuration of a pool. */
export const POOL = { name: "default", config: poolConfig() };

/** A pool with this configuration and these rows: its workers were requested under it. */
export function configured(
  more: Partial<PoolConfigInput> = {},
  runs: RunRow[] = [],
  workers: WorkerRow[] = [],
): Configured {
  const config = poolConfig(more);
  const asked = workers.map((row) => ({ ...row, settings: settingsOf(config) }));
  return existing(pool(recordOf(config), runs, asked));
}

export function existing(state: PoolState): Configured {
  if (state.record === null) throw new Error("there is no pool");
  return { ...state, record: state.record };
}

/**
 * Folds events in, all at one moment, and commits each. The tables are kept in place: use each state once.
 */
export function at(state: PoolState, now: number, ...events: PoolEvent[]): Configured {
  let next = state;
  for (const event of events) {
    next = applied(poolMachine, next, event, now);
    next.runs.flush();
    next.workers.flush();
    next.audit.rows.flush();
  }
  return existing(next);
}

/** What is left of a pool when its object is evicted and loaded again. */
export function reloaded(state: Configured): Configured {
  return existing(pool(state.record, [...state.runs.live()], [...state.workers.live()]));
}

export function upsert(run: string, more: Partial<RunUpsert> = {}): RunUpsert {
  return {
    run,
    submittedAt: T0,
    by: "admin",
    project: "default",
    budget: null,
    storedBytes: 0,
    version: 1,
    state: "pending",
    priority: 50,
    labels: {},
    command: "true",
    resources: NEED,
    hostPaths: false,
    fakes: false,
    protocol: 0,
    exitCode: null,
    startedAt: null,
    finishedAt: null,
    restarts: 0,
    oomKills: 0,
    taskFailures: {},
    startFailures: 0,
    avoid: [],
    prefer: null,
    wants: "place",
    epoch: 0,
    ended: 0,
    ...more,
  };
}

export const run = (id: string, more: Partial<RunUpsert> = {}): Extract<PoolEvent, { type: "run" }> => ({
  type: "run",
  body: upsert(id, more),
});

/** The pool's notice of the place of a run. */
export const placeOf = (run: string) => ({ run, submittedAt: T0, worker: "w1", epoch: 1, version: 1 });

/** A hold-off of everything. */
export function hold(until: number | null, more: Partial<Hold> = {}): Hold {
  return { cause: "temporary", scope: "all", tries: 1, until, reason: "no", ...more };
}

/** A pool with these hold-offs. */
export function held(state: Configured, ...holds: Hold[]): Configured {
  return { ...state, record: { ...state.record, holds } };
}

/** A run that waits for a place. */
export function waiting(id: string, more: Partial<RunUpsert> = {}): RunRow {
  return { ...upsert(id, more), opened: 0, worker: null, heardAt: T0 };
}

/** A run with an open epoch on a worker. */
export function placed(id: string, worker: string, more: Partial<RunUpsert> = {}): RunRow {
  return { ...upsert(id, more), opened: 1, worker, heardAt: T0 };
}

export const vcpus = (count: number) => ({ resources: { ...NEED, vcpus: count } });

/** The types of the machines that a plan creates. */
export function createsOf({ creates }: Pick<Plan, "creates">): string[] {
  return creates.map(({ name }) => name);
}

/** A worker of 4 vCPUs in some phase; a booting one has no instance yet. */
export function workerRow(
  worker: string,
  phase: WorkerRow["phase"] = "ready",
  more: Partial<Omit<WorkerRow, "kind">> & { kind?: WorkerRow["kind"] } = {},
): WorkerRow {
  const isUp = phase !== "asked" && phase !== "booting";
  return {
    worker,
    kind: "cloud",
    version: phase === "asked" ? 0 : 1,
    phase,
    idleBehavior: "run",
    instance: isUp ? `i-${worker}` : null,
    address: null,
    readyAt: phase === "ready" ? T0 : null,
    ...NOTHING_SAID,
    bootOutcome: isUp ? "success" : null,
    reason: "",
    instanceType: "small",
    type: { vcpus: 4, memory: "1GiB", disk: "0", gpus: 0, price: 1 },
    zone: null,
    askedAt: T0,
    notAfter: T0 + 10 * MINUTE,
    stopUntil: 0,
    missingSince: null,
    refusals: 0,
    pausedUntil: 0,
    settings: settingsOf(poolConfig()),
    heardAt: T0,
    endingAt: phase === "shutdown" ? T0 : null,
    project: null,
    ...more,
  } as WorkerRow;
}

/** A worker's report of itself. */
export function workerSays(
  worker: string,
  more: Partial<WorkerUpsert> = {},
): Extract<PoolEvent, { type: "worker" }> {
  return {
    type: "worker",
    body: {
      worker,
      version: 2,
      phase: "ready",
      idleBehavior: "run",
      instance: `i-${worker}`,
      address: null,
      zone: null,
      readyAt: T0,
      ...NOTHING_SAID,
      bootOutcome: "success",
      reason: "ready",
      wantsStop: false,
      ...more,
      waits: more.waits ?? null,
      failure: more.failure ?? null,
    },
  };
}

/** Where runs are placed, as `run@worker`. */
export function placesOf(state: Configured, now = T0): string[] {
  return plan(state, now).places.map((one) => `${one.run.run}@${one.worker}`);
}

/** Why each run waits. */
export function waitsOf(result: Plan): Record<string, string> {
  return Object.fromEntries(
    [...result.waits].map(([id, { code, worker }]) => [
      id,
      worker === undefined ? code : `${code} ${worker}`,
    ]),
  );
}

export const answer = (state: PoolState, id: string, more: Partial<RunUpsert> = {}) =>
  answerRun(state, upsert(id, more), T0);

export function owed<Kind extends PoolMessage["kind"]>(
  state: PoolState,
  now: number,
  kind: Kind,
): Extract<PoolMessage, { kind: Kind }>[] {
  return poolMachine
    .due(state, now)
    .filter((message): message is Extract<PoolMessage, { kind: Kind }> => message.kind === kind);
}

export const rowOf = (state: PoolState, id: string, submittedAt = T0) =>
  state.runs.get(runKey(submittedAt, id));
