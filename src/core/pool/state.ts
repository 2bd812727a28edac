import type { Resources } from "../../schema/common.ts";
import type { InstanceType, PoolConfig } from "../../schema/pool.ts";
import { durationMs } from "../duration.ts";
import type { Instant } from "../machine.ts";
import type { RunUpsert, Sighting, WorkerSettings, WorkerUpsert } from "../messages.ts";
import type { Rows } from "../rows.ts";
import { isTerminal } from "../run-state.ts";
import { resourcesOfType } from "../spec.ts";

/** A run as its pool knows it: what the allocation last said, and where the pool has placed it. */
export interface RunRow extends RunUpsert {
  /** The highest epoch that the pool has opened. It is open while it is above `ended`. */
  opened: number;
  /** The worker of that epoch. */
  worker: string | null;
  heardAt: Instant;
  /** Somebody wants it deleted: it is kept at hand until its allocation has forgotten it. */
  forget?: true;
}

/** A worker in the pool's ledger. `asked`: the permit is given, the worker itself does not know yet. */
export interface WorkerRow extends Omit<WorkerUpsert, "phase" | "wantsStop"> {
  phase: WorkerUpsert["phase"] | "asked";
  instanceType: string;
  /**
   * As it was configured when the machine was asked for: what it has does not change with the configuration.
   * Of a machine of one's own: nothing, so that no version counts on it before its host has said what it has.
   */
  type: InstanceType;
  /** It is a machine of one's own: it has joined by a code, and no provider knows it. Absent: it is not. */
  own?: true;
  askedAt: Instant;
  notAfter: Instant;
  /** Until when the pool has agreed that it stops: nothing is placed on it. */
  stopUntil: Instant;
  /** Since which listing its instance has been missing in all of them. */
  missingSince: Instant | null;
  /** Placements in a row that it has not begun, and until when it gets no further one for that. */
  refusals: number;
  pausedUntil: Instant;
  /** As they were when it was asked for: the worker decides by these. */
  settings: WorkerSettings;
  heardAt: Instant;
}

export interface PoolRecord {
  name: string;
  revision: number;
  config: PoolConfig;
  seed: string;
  /** The number of the next worker's name. A name is never used twice, so this is no count. */
  nextWorker: number;
  /** No machine is created before `until`: the latest ones failed. */
  hold: { failures: number; until: Instant; reason: string } | null;
}

/** What a restart may forget. */
export interface PoolMemo {
  /** By run: the epoch that its allocation knows. Kept in place, like the rows: there may be very many. */
  told: Map<string, number>;
  sweptAt: Instant | null;
  sweepError: string | null;
  /** What listings say that workers must still hear. */
  sightings: Record<string, Sighting>;
  /** When the owner of a row was last asked how it is, by the row's key. Kept in place. */
  pokedAt: Map<string, Instant>;
  /** Ended runs whose time is over, by key, and when to look for others; absent: at once. Kept in place. */
  expired: Map<string, RunRow>;
  lookAt?: Instant | undefined;
  /** Why the latest configuration was refused. */
  refusedRevision: number;
  /** When we last decided, and from what: what was to happen by then has. */
  decidedAt: Instant;
  decidedFrom: string;
}

export interface PoolState {
  record: PoolRecord | null;
  runs: Rows<RunRow>;
  workers: Rows<WorkerRow>;
  memo: PoolMemo;
}

/** A pool that has a configuration. */
export type Configured = PoolState & { record: PoolRecord };

/** The state of a pool as it is loaded. */
export function loadedPool(
  record: PoolRecord | null,
  runs: Rows<RunRow>,
  workers: Rows<WorkerRow>,
): PoolState {
  const memo: PoolMemo = {
    told: new Map(),
    sweptAt: null,
    sweepError: null,
    sightings: {},
    pokedAt: new Map(),
    expired: new Map(),
    refusedRevision: 0,
    decidedAt: 0,
    decidedFrom: "",
  };
  return { record, runs, workers, memo };
}

/** The key of a run's row: rows lie in the order of submission, which is that of the lists. */
export function runKey(submittedAt: Instant, run: string): string {
  return `${String(submittedAt).padStart(15, "0")}/${run}`;
}

/** Whether an epoch of the run is open: that, and nothing else, is what uses capacity (rule R3). */
export function isOpen(row: RunRow): boolean {
  return row.opened > row.ended;
}

/** Whether a run's row is kept at hand: it is not over, still uses capacity, or is about to go. */
export function isLiveRun(row: RunRow): boolean {
  return !isTerminal(row.state) || isOpen(row) || row.forget === true;
}

/** Whether a worker may still have a machine. */
export function isLiveWorker(row: WorkerRow): boolean {
  return row.phase !== "gone";
}

/** What the machine of a worker has: what its type says, or what a host of one's own has measured. */
export function capacityOfRow({ resources, type }: WorkerRow): Resources {
  return resources ?? resourcesOfType(type);
}

/** The live workers whose machines a provider makes: the only ones that permits and listings are about. */
export function* providedWorkers({ workers }: PoolState): Generator<WorkerRow> {
  for (const row of workers.live()) if (row.own === undefined) yield row;
}

/** What a worker needs of its pool's configuration. */
export function settingsOf(config: PoolConfig): WorkerSettings {
  const { timeouts, probe } = config;
  return {
    probeIntervalMs: durationMs(probe.interval),
    bootCommand: probe.boot,
    bootMs: durationMs(timeouts.boot),
    probeMs: durationMs(timeouts.probe),
    idleMs: durationMs(timeouts.idle),
    shutdownMs: durationMs(timeouts.shutdown),
    leaseMs: durationMs(timeouts.lease),
    maxRuns: config.maxRunsPerInstance,
  };
}
