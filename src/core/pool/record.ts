// What does a pool store: its record, and the rows of its runs and workers?
import type { Resources } from "../../schema/common.ts";
import type { InstanceType, PoolConfig } from "../../schema/pool.ts";
import { TRAITS } from "../../shared/cloud/kinds.ts";
import { durationMs } from "../../shared/duration.ts";
import type { Instant } from "../../shared/machine.ts";
import { isTerminal } from "../../shared/run-state.ts";
import type { Exported } from "../audit/export.ts";
import type { Counts } from "../histogram.ts";
import type {
  CloudCall,
  LeftBehind,
  RunUpsert,
  WorkerFailure,
  WorkerSettings,
  WorkerUpsert,
} from "../messages.ts";
import type { OfferedPrice, PricedType } from "../provider-answers.ts";
import { withGpus } from "../resources.ts";
import type { ReadonlyRows } from "../rows.ts";
import { resourcesOfType } from "../spec.ts";
import type { Reach } from "../webhook/messages.ts";
import type { OpenHour } from "./past/hour-record.ts";

/** A run as its pool knows it: the allocation's latest upsert, and its placement. */
export interface RunRow extends Omit<RunUpsert, "audit" | "escalations"> {
  /** The number of the latest entry of the audit log that came from its allocation. Absent: none came. */
  audited?: number;
  /** The number of the change with which the row was made. Absent: the row has not been written yet. */
  arrival?: number;
  /** Its submission came so late that it has an entry of its own (audit.md#submissions). */
  late?: true;
  /** The highest epoch that the pool has opened. The epoch is open while it is above `ended`. */
  opened: number;
  /** When the pool opened that epoch. Absent: no epoch was opened. */
  openedAt?: Instant;
  /** The worker of that epoch. */
  worker: string | null;
  heardAt: Instant;
  /**
   * The run that replaces it, who submitted that one, and whether the allocation has confirmed that it must
   * end (pool.md#replacing). Absent: none does.
   */
  replacedBy?: { run: string; by: string; confirmed?: true };
  /**
   * Whose turn it is among keys that take turns: the lowest number (pool.md#round-robin). Absent: its key
   * takes no turns.
   */
  turn?: number;
  /**
   * The allocation has confirmed that its run must end, because its pool is deleted by force. Absent: it has
   * not.
   */
  endAcknowledged?: true;
  /** The allocation has confirmed that its run must end with its array (pool.md#fail-at). Absent: not yet. */
  endsWithArray?: true;
  /** A user deletes the run: its row stays in memory until the allocation has forgotten the run. */
  forget?: true;
  /** The number of the row's latest change (`changes.ts`). Absent: the row has not been written yet. */
  number?: number;
  /** The run's ordinal among the ended runs of the pool (`tally.ts`). Absent: the run has not ended. */
  endNumber?: number;
  /** When the pool learned of the end. Absent: the run has not ended. */
  endHeardAt?: Instant;
}

/**
 * What the pool stores about any worker. `asked`: the worker has not yet received its permit to create a
 * machine.
 */
export interface AnyWorkerRow extends Omit<WorkerUpsert, "phase" | "wantsStop" | "audit"> {
  /** As in `RunRow`. */
  audited?: number;
  phase: WorkerUpsert["phase"] | "asked";
  instanceType: string;
  /**
   * The type as configured when the machine was requested: later configurations do not change it. For a
   * self-hosted machine all its amounts are 0, so that no run counts on the machine before its host has
   * reported.
   */
  type: InstanceType;
  askedAt: Instant;
  notAfter: Instant;
  /** No run is placed on the worker before this time, because the pool has consented to the worker's stop. */
  stopUntil: Instant;
  /** When the first listing that omitted the instance began; all later listings have omitted it, too. */
  missingSince: Instant | null;
  /** How many placements in a row the worker did not start; it gets no run before `pausedUntil`. */
  refusals: number;
  pausedUntil: Instant;
  /** The pool's settings when the worker was requested: these apply to the worker. */
  settings: WorkerSettings;
  heardAt: Instant;
  /** When the worker began to end; null: it is not ending. */
  endingAt: Instant | null;
  /**
   * The project to which its machine belongs, until the worker's end (projects.md#machines). Null: the row
   * names none, and `ownerOf` says more.
   */
  project: string | null;
  /** When the worker was last marked gone: its cost until then has been counted. Absent: never. */
  spentUntil?: Instant;
  /** Its cost was not counted then: there was no machine, as far as was known. Absent: it was counted. */
  uncounted?: true;
  /** The number of the row's latest change (`changes.ts`). Absent: the row has not been written yet. */
  number?: number;
}

/** The values of the fields that describe a worker's machine, as long as nothing is known about a machine. */
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
  paid: null,
  destroyFailure: null,
  calls: {},
  clockSkewMs: 0,
};

/** A worker whose machine a provider makes. */
export interface CloudRow extends AnyWorkerRow {
  kind: "cloud";
  /**
   * The worker's latest turn to call the provider (`turns.ts`), the worker's version at that time, and the
   * call. Absent: no turn yet.
   */
  turn?: { version: number; at: Instant; call: CloudCall };
  /** A listing showed the worker's machine when no worker owned it. Absent: the machine was requested. */
  adopt?: { id: string; address: string | null };
  /** The image for which the machine was requested. Absent: unknown, as for an adopted machine. */
  image?: string;
  /** The machine was requested at a former address of the provider, and is no longer needed. */
  elsewhere?: true;
}

/** A worker whose machine joins with an enrollment code: no provider call or listing concerns it. */
interface SelfHostedRow extends AnyWorkerRow {
  kind: "self-hosted";
  turn?: undefined;
  adopt?: undefined;
  elsewhere?: undefined;
}

/** A worker as its pool stores it, by where its machine comes from. */
export type WorkerRow = CloudRow | SelfHostedRow;

/** What is known of the account that the pool's machines are in. */
export interface KnownAccount {
  /** The account's name, if a listing has named it. */
  name?: string;
  /** A digest of the credentials with which a listing last showed this account. */
  credentials?: string;
  /**
   * Since when listings are made with other credentials and have shown none of the machines that were known
   * before. Absent: the latest listing was one of this account.
   */
  doubtedSince?: Instant;
}

/** Everything about a pool that must survive a restart, except its rows. Stored as one value. */
export interface PoolRecord {
  name: string;
  revision: number;
  config: PoolConfig;
  seed: string;
  /** The number in the next worker's name. No name is used twice, so this is not a count. */
  nextWorker: number;
  /** The hold-offs that keep machines from being created: one for each cause and scope. */
  holds: Hold[];
  /** The pool is being deleted: it takes no new runs, and is gone once it is empty. Absent: it stays. */
  leaving?: true;
  /** Who forced the deletion, and the machines that it may leave behind. Absent: no forced deletion. */
  forced?: { by: string; left: LeftBehind[] };
  /** Measurements that contradict advertised types. Absent: none. */
  learned?: Learned;
  /** Why the machines of a type take no containers, by type. Absent: nothing of the kind has been seen. */
  engineless?: Record<string, string>;
  /** By instance type: how many GPUs its machines have, if fewer than it says (devices.md#capacity). */
  learnedGpus?: Learned;
  /** What the provider says that the configured types cost. Absent: it has not said (pool.md#prices). */
  prices?: OfferedPrice[];
  /** The types for whose prices it was asked when it said that. Absent: it was not asked. */
  pricesAsked?: PricedType[];
  /**
   * When the provider last listed its machines while the pool should have none. Stored, because an idle pool
   * is evicted long before the next listing. Absent: never.
   */
  emptySweptAt?: Instant;
  /** The account that the pool's machines are in (clouds.md#accounts). Absent: nothing is known of it. */
  account?: KnownAccount;
  /** A digest of the credentials of the latest listing. Absent: there was none. */
  credentials?: string;
  /**
   * Until this time, a machine may still appear that was given up because no listing showed it. So even an
   * empty pool requests listings until then. Absent: no such machine is expected.
   */
  lateUntil?: Instant | undefined;
  tally: Tally;
  /** What was seen of the present hour (pool.md#hours). Absent: nothing was. */
  hour?: OpenHour;
  /** The endpoints of webhooks that follow the pool, by id (webhooks.md#following). */
  followers: Record<string, Follower>;
  /** How far the pool's part of the audit log is exported. */
  exported: Exported;
}

/** An endpoint that follows a pool: what it wants, and up to where it has confirmed the pool's news. */
export interface Follower {
  updates: boolean;
  told: Reach;
}

/** By instance type: the least memory that a host has measured, if it is less than advertised. */
export type Learned = Record<string, number>;

/** The counters since the pool was created, as stored. */
export interface Tally {
  counts: Counts;
  /** Ended runs up to this ordinal are included in `counts`; later ended runs are counted from the rows. */
  upTo: number;
  /** No run with a higher ordinal has a row key below this key. */
  from: string;
}

/** The tally of a pool in which nothing has happened. */
export const NO_TALLY: Tally = { counts: {}, upTo: 0, from: "" };

/**
 * A hold-off: machines of some types are not created, since the creation or the boot of such a machine has
 * failed.
 */
export interface Hold {
  cause: WorkerFailure["class"];
  /** `all`, `group:NAME`, `group:NAME:spot`, `type:NAME`; for listings, `list`. */
  scope: string;
  /** Failures in a row. */
  tries: number;
  /**
   * Until this time, no machine is created. Afterwards one machine at a time is tried, until a machine
   * succeeds. Null: no machine is created before the next configuration.
   */
  until: Instant | null;
  reason: string;
}

/** The key of a run's row: keys sort by the time of submission. */
export function runKey(submittedAt: Instant, run: string): string {
  return `${String(submittedAt).padStart(15, "0")}/${run}`;
}

/** Whether an epoch of the run is open: only an open epoch uses capacity (rule R3). */
export function isOpen(row: RunRow): boolean {
  return row.opened > row.ended;
}

/** Whether the run has ended, and its machine keeps it for a look (tasks.md#kept). */
export function isKept(row: RunRow): boolean {
  return isTerminal(row.state) && isOpen(row);
}

/** The key under which runs of one project replace each other. Undefined: the run replaces none. */
export function replaceKey({ project, replace }: Pick<RunRow, "project" | "replace">): string | undefined {
  return replace === undefined ? undefined : `${project} ${replace}`;
}

/** Whether anything of the run may be left: only its end lets another run take its place. */
export function isLeft(row: RunRow): boolean {
  return !isTerminal(row.state) || isOpen(row);
}

/** Whether a run's row stays in memory: it has not ended, uses capacity, or is being deleted. */
export function isLiveRun(row: RunRow): boolean {
  return !isTerminal(row.state) || isOpen(row) || row.forget === true;
}

/** Whether a worker may still have a machine. */
export function isLiveWorker(row: WorkerRow): boolean {
  return row.phase !== "gone";
}

/** Whether the worker has no machine yet, but the provider may still make one for it. */
export function isUnmade({ kind, instance, phase }: WorkerRow): boolean {
  return kind === "cloud" && instance === null && (phase === "asked" || phase === "booting");
}

/** Whether the machine was adopted, and its worker has not confirmed the adoption yet. */
export function isUnheard({ adopt, version }: WorkerRow): boolean {
  return adopt !== undefined && version === 0;
}

/** Whether the worker has been given a turn, and has not changed since. */
export function hasTurn({ turn, version }: WorkerRow): boolean {
  return turn?.version === version;
}

/**
 * Whether the worker waits for a turn: for its first provider call, or for a call that the worker has told
 * the pool about.
 */
export function isWaiting(row: WorkerRow): boolean {
  if (row.kind === "self-hosted") return false;
  if (row.phase === "asked") return row.turn === undefined;
  return row.waits !== null && !hasTurn(row);
}

/**
 * The resources of a worker's machine: those of its type or, for a self-hosted machine, those that its host
 * measured.
 */
export function capacityOfRow({ resources, type }: WorkerRow): Resources {
  return resources ?? resourcesOfType(type);
}

/** The same, with as many GPUs as its host can use, as far as known (devices.md#capacity). */
export function usableOfRow(row: WorkerRow): Resources {
  return withGpus(capacityOfRow(row), row.gpus?.count);
}

/** The live workers whose machines are made by a provider: permits and listings only concern these. */
export function* providedWorkers({ workers }: { workers: ReadonlyRows<WorkerRow> }): Generator<CloudRow> {
  for (const row of workers.live()) if (row.kind === "cloud") yield row;
}

/** The machines that should be gone, and whose latest destroy call failed. */
export function undestroyed(state: { workers: ReadonlyRows<WorkerRow> }): CloudRow[] {
  return [...providedWorkers(state)].filter(({ destroyFailure }) => destroyFailure !== null);
}

/** The settings that a worker takes from its pool's configuration. */
export function settingsOf(config: PoolConfig): WorkerSettings {
  const { timeouts, probe } = config;
  return {
    probeIntervalMs: durationMs(probe.interval),
    bootCommand: probe.boot ?? TRAITS[config.provider.kind].bootProbe,
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
