// What does a pool store: its record, and the rows of its runs and workers?
import type { Resources } from "../../schema/common.ts";
import type { InstanceType, PoolConfig } from "../../schema/pool.ts";
import { durationMs } from "../../shared/duration.ts";
import type { Instant } from "../../shared/machine.ts";
import { isTerminal } from "../../shared/run-state.ts";
import type { LeftBehind, RunUpsert, WorkerFailure, WorkerSettings, WorkerUpsert } from "../messages.ts";
import type { ReadonlyRows } from "../rows.ts";
import { resourcesOfType } from "../spec.ts";

/** A run as its pool knows it: the allocation's latest upsert, and its placement. */
export interface RunRow extends RunUpsert {
  /** The highest epoch that the pool has opened. It is open while it is above `ended`. */
  opened: number;
  /** When the pool opened that epoch. Absent: it has opened none. */
  openedAt?: Instant;
  /** The worker of that epoch. */
  worker: string | null;
  heardAt: Instant;
  /** Its allocation was told to end, because the pool is deleted by force. Absent: not told. */
  endAcknowledged?: true;
  /** A user deletes it: the row stays in memory until the allocation has forgotten the run. */
  forget?: true;
  /** The number of its latest change (`changes.ts`). Absent: it has not been written yet. */
  number?: number;
  /** Its ordinal among the ended runs of the pool (`tally.ts`). Absent: it has not ended. */
  endNumber?: number;
}

/** What the ledger holds about any worker. `asked`: it has a permit, and does not know about it yet. */
export interface AnyWorkerRow extends Omit<WorkerUpsert, "phase" | "wantsStop"> {
  phase: WorkerUpsert["phase"] | "asked";
  instanceType: string;
  /**
   * The type as configured when the machine was requested: later configurations do not change it. For a
   * self-hosted machine all zero, so that nothing counts on it before its host has reported.
   */
  type: InstanceType;
  askedAt: Instant;
  notAfter: Instant;
  /** Until this time nothing is placed on it, because the pool has agreed that it stops. */
  stopUntil: Instant;
  /** Every listing since this time has omitted its instance: the first of them began then. */
  missingSince: Instant | null;
  /** Placements in a row that it did not start, and until when it therefore gets no other. */
  refusals: number;
  pausedUntil: Instant;
  /** The settings when it was requested. The worker decides by these. */
  settings: WorkerSettings;
  heardAt: Instant;
  /** Since when it has been ending; null: it is not. */
  endingAt: Instant | null;
  /** It counted as gone at this time, and its cost until then has been counted. Absent: never. */
  spentUntil?: Instant;
  /** The number of its latest change (`changes.ts`). Absent: it has not been written yet. */
  number?: number;
}

/** What a worker's row says about its machine as long as there is none. */
export const NOTHING_SAID = {
  bootOutcome: null,
  protocol: 0,
  failure: null,
  resources: null,
  measuredMemory: null,
  listedPrice: null,
  unmade: false,
  forced: false,
  waits: null,
  doubles: [],
};

/** A worker whose machine a provider makes. */
export interface CloudRow extends AnyWorkerRow {
  kind: "cloud";
  /** Its latest turn to call the provider (`turns.ts`), and the worker's version then. Absent: none yet. */
  turn?: { version: number; at: Instant };
  /** A listing showed its machine, which no worker owned. Absent: the machine was requested. */
  adopt?: { id: string; address: string | null };
  /** It was requested at a former address of the provider, and is no longer needed. */
  elsewhere?: true;
}

/** A worker whose machine has joined by a code: no provider call or listing concerns it. */
interface SelfHostedRow extends AnyWorkerRow {
  kind: "self-hosted";
  turn?: undefined;
  adopt?: undefined;
  elsewhere?: undefined;
}

/** A worker in the pool's ledger, by who brings its machine. */
export type WorkerRow = CloudRow | SelfHostedRow;

/** Everything about a pool that must survive, except its rows. Stored as one value. */
export interface PoolRecord {
  name: string;
  revision: number;
  config: PoolConfig;
  seed: string;
  /** The number in the next worker's name. No name is used twice, so this is not a count. */
  nextWorker: number;
  /** What keeps machines from being created: one hold-off for each cause and scope. */
  holds: Hold[];
  /** It is being deleted: it takes no more runs, and is gone once nothing lives in it. Absent: no. */
  leaving?: true;
  /** Set with `leaving` if forced: by whom, and the machines that may be left behind. Absent: not forced. */
  forced?: { by: string; left: LeftBehind[] };
  /** What machines have shown about their types. Absent: nothing. */
  learned?: Learned;
  /**
   * When the provider last listed its machines while there should be none. Stored, because an idle pool is
   * evicted long before the next listing. Absent: never.
   */
  emptySweptAt?: Instant;
  /**
   * Until when a machine that was given up because no listing showed it may still appear: even an empty pool
   * asks for listings until then. Absent: none is expected.
   */
  lateUntil?: Instant | undefined;
  /** What has been counted. */
  tally: Tally;
}

/** The least memory that a host measured, for instance types with less than advertised. */
export type Learned = Record<string, number>;

/** Counters by name since the pool was created; they only grow. */
export type Counts = Record<string, number>;

/** The counters as stored. */
export interface Tally {
  counts: Counts;
  /** Ended runs up to this ordinal are included in `counts`; later ones are counted from the rows. */
  upTo: number;
  /** No row of a run that ends later has a key below this. */
  from: string;
}

/** The tally of a pool in which nothing has happened. */
export const NO_TALLY: Tally = { counts: {}, upTo: 0, from: "" };

/** Keeps machines of some types from being created, since the creation or the boot of one has failed. */
export interface Hold {
  cause: WorkerFailure["class"];
  /** `all`, `group:NAME`, `group:NAME:spot`, `type:NAME`; for listings, `list`. */
  scope: string;
  /** Failures in a row. */
  tries: number;
  /**
   * Until this time no machine is created; then one at a time, until one succeeds. Null: until the next
   * configuration.
   */
  until: Instant | null;
  reason: string;
}

/** The key of a run's row: rows are sorted by submission, like lists. */
export function runKey(submittedAt: Instant, run: string): string {
  return `${String(submittedAt).padStart(15, "0")}/${run}`;
}

/** Whether an epoch of the run is open: only an open epoch uses capacity (rule R3). */
export function isOpen(row: RunRow): boolean {
  return row.opened > row.ended;
}

/** Whether a run's row stays in memory: it has not ended, uses capacity, or is being deleted. */
export function isLiveRun(row: RunRow): boolean {
  return !isTerminal(row.state) || isOpen(row) || row.forget === true;
}

/** Whether a worker may still have a machine. */
export function isLiveWorker(row: WorkerRow): boolean {
  return row.phase !== "gone";
}

/** Whether its provider may still make its machine: it is shown as booting, and there is none yet. */
export function isUnmade({ kind, instance, phase }: WorkerRow): boolean {
  return kind === "cloud" && instance === null && (phase === "asked" || phase === "booting");
}

/** Whether it was adopted and its worker has not confirmed that yet. */
export function isUnheard({ adopt, version }: WorkerRow): boolean {
  return adopt !== undefined && version === 0;
}

/** Whether it has a turn, and has not changed since. */
export function hasTurn({ turn, version }: WorkerRow): boolean {
  return turn?.version === version;
}

/** Whether it waits for a turn to call the provider: for its first call, or as it says itself. */
export function isWaiting(row: WorkerRow): boolean {
  if (row.kind === "self-hosted") return false;
  if (row.phase === "asked") return row.turn === undefined;
  return row.waits !== null && !hasTurn(row);
}

/** The resources of a worker's machine: those of its type, or, if self-hosted, the measured ones. */
export function capacityOfRow({ resources, type }: WorkerRow): Resources {
  return resources ?? resourcesOfType(type);
}

/** The live workers whose machines are made by a provider: permits and listings only concern these. */
export function* providedWorkers({ workers }: { workers: ReadonlyRows<WorkerRow> }): Generator<CloudRow> {
  for (const row of workers.live()) if (row.kind === "cloud") yield row;
}

/** The settings that a worker takes from its pool's configuration. */
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
    staleRunMs: durationMs(timeouts.staleRun),
    unlistedMs: durationMs(timeouts.unlisted),
    maxKillMs: durationMs(timeouts.maxKill),
  };
}
