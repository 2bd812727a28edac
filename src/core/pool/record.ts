// What a pool stores: its record, and the rows of its runs and workers, with what a row says by itself.
import type { Resources } from "../../schema/common.ts";
import type { InstanceType, PoolConfig } from "../../schema/pool.ts";
import { durationMs } from "../../shared/duration.ts";
import type { Instant } from "../../shared/machine.ts";
import { isTerminal } from "../../shared/run-state.ts";
import type { LeftBehind, RunUpsert, WorkerFailure, WorkerSettings, WorkerUpsert } from "../messages.ts";
import type { ReadonlyRows } from "../rows.ts";
import { resourcesOfType } from "../spec.ts";

/** A run as its pool knows it: what the allocation last said, and where the pool has placed it. */
export interface RunRow extends RunUpsert {
  /** The highest epoch that the pool has opened. It is open while it is above `ended`. */
  opened: number;
  /** When the pool opened that epoch. Absent: it has opened none, or an older version did. */
  openedAt?: Instant;
  /** The worker of that epoch. */
  worker: string | null;
  heardAt: Instant;
  /** Its allocation has been told to end it: its pool is deleted by force. Absent: it has not. */
  endTold?: true;
  /** Somebody wants it deleted: it is kept at hand until its allocation has forgotten it. */
  forget?: true;
  /** That of its latest change (`changes.ts`). Absent: it has not changed since there are numbers. */
  number?: number;
  /** It was the so-manieth run of the pool to end (`tally.ts`). Absent: it has not, or nobody has counted. */
  endNumber?: number;
}

/** What any worker has in the ledger. `asked`: the permit is given, the worker itself does not know yet. */
export interface AnyWorkerRow extends Omit<WorkerUpsert, "phase" | "wantsStop"> {
  phase: WorkerUpsert["phase"] | "asked";
  instanceType: string;
  /**
   * As it was configured when the machine was asked for: what it has does not change with the configuration.
   * Of a self-hosted machine: nothing, so that no version counts on it before its host has said what it has.
   */
  type: InstanceType;
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
  /** Since when it has been ending. Absent: it is not, or an earlier version has stored that. */
  endingAt?: Instant | undefined;
  /** It was taken for gone then, and what it cost until then is counted. Absent: it never was. */
  spentUntil?: Instant;
  /** That of its latest change (`changes.ts`). Absent: it has not changed since there are numbers. */
  number?: number;
}

/** A worker whose machine a provider makes. */
export interface CloudRow extends AnyWorkerRow {
  kind: "cloud";
  /** When it was last its turn to call the provider (`turns.ts`), and as which version. Absent: never. */
  turn?: { version: number; at: Instant };
  /** A listing has shown its machine, and nobody knew of it. Absent: it was asked for. */
  adopt?: { id: string; address: string | null };
  /** It was asked for at another address than that of the pool's provider now: it is wanted no more. */
  elsewhere?: true;
}

/** One whose machine has joined by a code: no provider knows it, so no call or listing is about it. */
interface SelfHostedRow extends AnyWorkerRow {
  kind: "self-hosted";
  turn?: undefined;
  adopt?: undefined;
  elsewhere?: undefined;
}

/** A worker in the pool's ledger, by who brings its machine. */
export type WorkerRow = CloudRow | SelfHostedRow;

/** Everything about a pool that must survive, but for its rows. Stored as one value. */
export interface PoolRecord {
  name: string;
  revision: number;
  config: PoolConfig;
  seed: string;
  /** The number of the next worker's name. A name is never used twice, so this is no count. */
  nextWorker: number;
  /** What keeps machines from being asked for, by cause and scope: one of each. */
  holds: Hold[];
  /** Where an earlier version keeps the one hold-off that it knows. It would stumble over its absence. */
  hold: null;
  /**
   * It is being deleted: it takes no more runs, and is gone as soon as nothing lives here. Absent: it is not.
   */
  leaving?: true;
  /** Beside `leaving`: by whom that is forced, and what it may leave behind. Absent: it is not. */
  forced?: { by: string; left: LeftBehind[] };
  /** What machines have taught of their types. Absent: nothing. */
  learned?: Learned;
  /**
   * When the provider last said what exists while nothing should, or the pool was made: an idle pool is
   * forgotten long before an hour is over. Absent: nobody has asked.
   */
  emptySweptAt?: Instant;
  /**
   * Until when a machine may still appear that was given up because no listing had it: an empty pool goes on
   * asking for listings until then. Absent: no such machine is awaited.
   */
  lateUntil?: Instant | undefined;
  /** What has been counted. Absent: nothing, or by no version that counts. */
  tally?: Tally;
}

/** By instance type whose machines have less memory than they should: the least that a host has measured. */
export type Learned = Record<string, number>;

/** What has happened in a pool since it was made, by name: numbers that only grow. */
export type Counts = Record<string, number>;

/** The counts as they are stored. */
export interface Tally {
  counts: Counts;
  /** The ends of runs up to the one of this number are in `counts`; later ones are counted from the rows. */
  upTo: number;
  /** No run that ends later has its row below this key: it was live then, or came after. */
  from: string;
}

/** What keeps machines of some types from being asked for, since asking for one, or booting one, failed. */
export interface Hold {
  cause: WorkerFailure["class"];
  /** `all`, `group:NAME`, `group:NAME:spot`, `type:NAME`; of listings `list`. */
  scope: string;
  /** Failures in a row. */
  tries: number;
  /**
   * Until then none is asked for, then one at a time until one succeeds; null: until it is configured anew.
   */
  until: Instant | null;
  reason: string;
}

/** The key of a run's row: rows lie in the order of submission, which is that of the lists. */
export function runKey(submittedAt: Instant, run: string): string {
  return `${String(submittedAt).padStart(15, "0")}/${run}`;
}

/** Since when a machine that is ending has been; a row of an earlier version knows its latest news only. */
export function endingSince({ endingAt, heardAt }: Pick<WorkerRow, "endingAt" | "heardAt">): Instant {
  return endingAt ?? heardAt;
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

/** Whether it was adopted, and its worker has not said yet that it knows. */
export function isUnheard({ adopt, version }: WorkerRow): boolean {
  return adopt !== undefined && version === 0;
}

/** Whether it is its turn, and it has not changed since it waited for that. */
export function hasTurn({ turn, version }: WorkerRow): boolean {
  return turn?.version === version;
}

/** Whether it waits for its turn to call the provider: it was never told of itself, or says so. */
export function isWaiting(row: WorkerRow): boolean {
  if (row.kind === "self-hosted") return false;
  if (row.phase === "asked") return row.turn === undefined;
  return row.waits !== undefined && !hasTurn(row);
}

/** What the machine of a worker has: what its type says, or what a self-hosted one has measured. */
export function capacityOfRow({ resources, type }: WorkerRow): Resources {
  return resources ?? resourcesOfType(type);
}

/** The live workers whose machines a provider makes: the only ones that permits and listings are about. */
export function* providedWorkers({ workers }: { workers: ReadonlyRows<WorkerRow> }): Generator<CloudRow> {
  for (const row of workers.live()) if (row.kind === "cloud") yield row;
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
    ...(timeouts.staleRun === undefined ? {} : { staleRunMs: durationMs(timeouts.staleRun) }),
    ...(timeouts.unlisted === undefined ? {} : { unlistedMs: durationMs(timeouts.unlisted) }),
    ...(timeouts.maxKill === undefined ? {} : { maxKillMs: durationMs(timeouts.maxKill) }),
  };
}
