// What is the state of a worker: what it stores, and what a restart may lose?
import type { Reported } from "../../probes/believed.ts";
import type { BootOutcome, BootProbe } from "../../probes/boot.ts";
import type { BootRecord } from "../../probes/boot-record.ts";
import type { HostClock } from "../../probes/host-clock.ts";
import type { Notice } from "../../probes/notice.ts";
import type { StaleRuns } from "../../probes/trouble.ts";
import type { Resources } from "../../schema/common.ts";
import type { HostEngine, Sample, SignalOrder, StreamName } from "../../schema/host.ts";
import type { WorkerHistoryEntry } from "../../schema/pool.ts";
import type { HostDevices } from "../../schema/run/devices.ts";
import { MAX_TEXT_CHARS } from "../../shared/limits.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import type { Outbox } from "../audit/outbox.ts";
import type { Counts } from "../histogram.ts";
import type {
  EndedHow,
  IdleBehavior,
  Intent,
  ListedPrice,
  SelfHosted,
  WantedAttempt,
  WorkerFailure,
  WorkerPhase,
} from "../messages.ts";
import { NO_RESOURCES, withGpus } from "../resources.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import { resourcesOfType } from "../spec.ts";
import { latestWithin, storedBytes } from "../stored-bytes.ts";

/** How many events are kept with a worker, and how many bytes they may take in storage. */
export const MAX_WORKER_EVENTS = 100;
export const MAX_WORKER_EVENT_BYTES = 256 * 1024;

/** A period in which a run is bound to this worker. Ended placements are kept for 24 h (rule R2). */
export interface PlacementRow {
  run: string;
  epoch: number;
  state: "live" | "ended";
  /**
   * The revision of the orders when this row last changed. The current revision is the highest revision of
   * all rows, or `revision` of the record if that is higher.
   */
  revision: number;
  /** When the placement was accepted or, after its end, when it ended. */
  at: Instant;
  /** The allocation's order, while the placement is live. */
  order: {
    revision: number;
    attempts: WantedAttempt[];
    resources: Resources;
    signals?: SignalOrder[];
  } | null;
  /**
   * How the placement ended. `held`: the host may have received it. `owed`: the allocation does not know
   * about the end yet.
   */
  end: { how: EndedHow; held: boolean; owed: boolean } | null;
  /**
   * The order was not sent to the host yet, so the host cannot have started anything. Absent: the order was
   * sent, or was about to be sent when the placement was accepted.
   */
  undelivered?: true;
}

/** A start of an agent that has joined. `signedAt`: when the join was signed, by the host's clock. */
export interface JoinNote {
  /** This id is the same in all calls of one start. */
  id: string;
  signedAt: Instant;
}

/** Everything about a worker that must survive a restart, except its placements. Stored as one value. */
export interface WorkerRecord {
  intent: Intent;
  version: number;
  phase: WorkerPhase;
  idleBehavior: IdleBehavior;
  reason: string;
  askedAt: Instant;
  instance: { id: string; address: string | null } | null;
  createdAt: Instant | null;
  bootProbe: BootProbe | null;
  readyAt: Instant | null;
  /** The outcome of its boot; null: none yet. */
  bootOutcome: BootOutcome | null;
  /** Where the machine is, or is wanted. Null: unknown, or there are no zones. */
  zone: string | null;
  /** From when to when the machine is paid for, as far as known. Null: there is none yet. */
  paid: { from: Instant; until: Instant | null } | null;
  /** When the provider itself ends the machine. Null: not at a known time. */
  endsAt: Instant | null;
  /** The machine is looked for by itself, since two listings omit it (clouds.md#looking-for-a-machine). */
  looks: boolean;
  /** Why the machine could not be destroyed so far. Null: nothing is known to prevent it. */
  destroyFailure: string | null;
  /** The host's notice that its machine is about to be taken away; null: none. */
  notice: Notice | null;
  /**
   * Stale runs: runs that have ended, but of which the host still reports a holder (workers.md#stale-runs).
   */
  stale: StaleRuns;
  secret: string | null;
  /** The public key of its host, for which secrets are sealed; null: none (secrets.md#host-keys). */
  hostKey: string | null;
  bootId: string | null;
  /** What the script of its machine has reported. Absent: nothing (clouds.md#boot-record). */
  boot?: BootRecord;
  /** The ids of earlier boots, latest last. */
  boots: string[];
  /** When two clones were first seen to start alternately as this host. */
  clonedAt: Instant | null;
  /** What the host measured when it enrolled; null: nothing. */
  measured: Resources | null;
  /** Its devices as its host reports them. Absent: it names none (devices.md#report). */
  devices?: HostDevices;
  /** Its devices before the fault in `devices`. Absent: there is no fault, or there were none. */
  devicesBefore?: HostDevices["list"];
  /** The protocol version of its host; 0: it has reported none (compat.md#hosts). */
  protocol: number;
  /** The container engine of its host. Absent: it has reported none (containers.md#engines). */
  engine?: HostEngine;
  /** The hourly prices that the provider has listed for the machine, one for each change, latest last. */
  prices: ListedPrice[];
  incarnation: number;
  /** The latest starts of the agent that have joined, latest last. */
  joins: JoinNote[];
  /** The latest signing time among forgotten joins; 0: none is forgotten. */
  joinsForgotten: Instant;
  joinedAt: Instant | null;
  lastSeq: number;
  lastReportAt: Instant | null;
  /** How the host's clock relates to ours, as of the last write (`probes/host-clock.ts`). */
  hostClock: HostClock | null;
  /** How far the host's date is ahead of ours (pool.md#clock-skew). 0: unknown, or hardly. */
  clockSkewMs: Millis;
  /** Its calls to the provider so far (pool.md#histograms). */
  calls: Counts;
  leaseUntil: Instant;
  /**
   * When this object first saw that the host's lease or report was overdue. Consequences follow later, so
   * that the host is not blamed for a time in which this object did not run (rule R4). A report resets this
   * field to null.
   */
  overdueSince: Instant | null;
  /**
   * When the first complete listing that omitted the instance began; all later complete listings have omitted
   * it, too.
   */
  omittedAt: Instant | null;
  /**
   * When the latest create or destroy call ended, or when an unanswered create call can no longer take
   * effect. A listing that began too soon after this time proves nothing (rule R5).
   */
  calledAt: Instant | null;
  /**
   * When the provider was last asked to destroy the machine; null: never, or the provider ignored the call.
   */
  destroyAskedAt: Instant | null;
  /** How often the provider was asked to destroy the machine, and since when; null: never. */
  destroys: { tries: number; since: Instant } | null;
  /** No create call is made before this time; null: a call may be made at any time. */
  createNotBefore: Instant | null;
  /** The worker's next call to the provider waits for a turn from the pool (`calls.ts`). */
  waits: boolean;
  /** The ids of other machines that the provider lists under the worker's name (`life/sighting.ts`). */
  doubles: string[];
  /** Doubles that a later listing omitted: a single omission does not prove that they are gone (rule R5). */
  formerDoubles: string[];
  /** While there is no machine: how the latest create call failed, and how many create calls have failed. */
  failure: WorkerFailure | null;
  createTries: number;
  /**
   * A create call may have made a machine: the answer was lost, or did not say whether a machine was made.
   */
  mayBeMade: boolean;
  /** A create call was unanswered when the worker began to end, and is still unanswered. */
  calling: boolean;
  /** Who has forced the worker's end, so that the worker waits for no listing (`kill.ts`); null: nobody. */
  forced: string | null;
  /**
   * Who has killed the worker by name; null: nobody. Without such a kill, a machine with runs is not
   * destroyed (invariant 4).
   */
  killedBy: string | null;
  goneAt: Instant | null;
  /** The revision of the orders never falls below this number, even after rows are dropped. */
  revision: number;
  events: WorkerHistoryEntry[];
  /** Entries of the audit log for its pool. Absent: nobody has asked anything of it. */
  audit?: Outbox | undefined;
}

/** A placement whose data the host retains. `answered`: the allocation's latest answer. */
export interface RetainedData {
  run: string;
  epoch: number;
  answered?: { at: Instant; needed: boolean };
}

/** The part of the state that a restart may lose. */
export interface WorkerMemo {
  lastSeq: number;
  /** When this process last heard from the host, by a report or by a sign of life on its socket. */
  lastReportAt: Instant | null;
  /** How the host's clock relates to ours; null: unknown. */
  hostClock: HostClock | null;
  reported: Record<string, Reported>;
  /**
   * By placement: the fingerprint of the report that the allocation last answered, and when it answered.
   * `again`: the allocation wants another report.
   */
  acknowledged: Record<string, { fingerprint: string; at: Instant; again: boolean }>;
  logs: Record<string, Partial<Record<StreamName, number>>>;
  /** Ended placements whose data the host retains (`retained-data.ts`). */
  retained: Record<string, RetainedData>;
  /** Extra units that reports have cost so far (`pace.ts`). */
  spent: number;
  /** The latest usage that the host reported, and when it was measured. */
  usage: { at: Instant; attempts: Record<string, Sample> } | null;
  /**
   * Whether this process knows everything that the host holds: it has received a full report, or has resumed
   * a socket on which all reports were settled.
   */
  whole: boolean;
  /** The key of the latest upsert that the pool confirmed (`upsertKey`). */
  poolHas: string;
  /** When old placements were last dropped. */
  forgotAt: Instant | null;
  /** When to propose a stop again, after the pool has refused a stop. */
  proposeAt: Instant;
  /**
   * When the pool last asked the worker to make room. The pool repeats this request for as long as necessary.
   */
  makeRoomAt: Instant | null;
  /**
   * No event has been applied since the state was loaded, so a call to the provider may have been made whose
   * answer is lost (`life/calls.ts`).
   */
  isJustLoaded: boolean;
  /** The SHA-256 of the agent that this Drover serves. Empty: unknown (host-protocol.md#self-update). */
  agent: string;
}

/** A worker as `apply` consumes it: its table of placements changes in place. */
export interface WorkerState {
  record: WorkerRecord | null;
  placements: Rows<PlacementRow>;
  memo: WorkerMemo;
}

/** The state of a worker right after loading. `agent`: the digest of the agent that this Drover serves. */
export function loadedWorker(
  record: WorkerRecord | null,
  placements: Rows<PlacementRow>,
  agent = "",
): WorkerState {
  const memo: WorkerMemo = {
    lastSeq: record?.lastSeq ?? 0,
    lastReportAt: null,
    hostClock: record?.hostClock ?? null,
    reported: {},
    acknowledged: {},
    logs: {},
    retained: {},
    spent: 0,
    usage: null,
    whole: false,
    poolHas: "",
    forgotAt: null,
    proposeAt: 0,
    makeRoomAt: null,
    isJustLoaded: record !== null,
    agent,
  };
  return { record, placements, memo };
}

/** A worker that exists. */
export type ExistingWorker = WorkerState & { record: WorkerRecord };

/** A worker as readers see it, without mutation. */
export interface ReadonlyWorker {
  readonly record: WorkerRecord | null;
  readonly placements: ReadonlyRows<PlacementRow>;
  readonly memo: Readonly<WorkerMemo>;
}

/** An existing worker as readers see it. */
export type ReadonlyExistingWorker = ReadonlyWorker & { readonly record: WorkerRecord };

/** Whether the worker's machine is self-hosted: no provider makes, lists or destroys it. */
export function isSelfHosted(record: WorkerRecord): record is WorkerRecord & { intent: SelfHosted } {
  return record.intent.kind === "self-hosted";
}

/** Whether the worker's end has begun, so that it takes no more orders. */
export function isEnding({ phase }: WorkerRecord): boolean {
  return phase === "shutdown" || phase === "gone";
}

/**
 * The resources of the machine: those of its type or, if it is self-hosted, those that its host measured. Of
 * GPUs those count that its host can use (devices.md#capacity).
 */
export function capacityOf({ intent, measured, devices }: WorkerRecord): Resources {
  const usable = devices?.list.filter(({ healthy }) => healthy).length;
  if (intent.kind !== "self-hosted") return withGpus(resourcesOfType(intent.type), usable);
  const resources = measured ?? NO_RESOURCES;
  return usable === undefined || measured === null ? resources : { ...resources, gpus: usable };
}

/** Memory in bytes that the host measured. Undefined: it is unknown, or `capacityOf` already contains it. */
export function measuredMemory(record: WorkerRecord): number | undefined {
  return isSelfHosted(record) ? undefined : record.measured?.memoryBytes || undefined;
}

/** The placements that have not ended. */
export function livePlacements(state: ReadonlyWorker): readonly PlacementRow[] {
  return state.placements.derive(notEnded);
}

function notEnded(rows: readonly PlacementRow[]): PlacementRow[] {
  return rows.filter((row) => row.state === "live");
}

/** The live placements whose orders were not sent to the host: the host cannot have started anything. */
export function undeliveredPlacements(state: ReadonlyWorker): readonly PlacementRow[] {
  return state.placements.derive(liveUndelivered);
}

function liveUndelivered(rows: readonly PlacementRow[]): PlacementRow[] {
  return notEnded(rows).filter((row) => row.undelivered === true);
}

/** The revision of the orders, which grows with each change of a placement. */
export function ordersRevision(state: ReadonlyExistingWorker): number {
  return Math.max(state.record.revision, state.placements.highest("revision"));
}

/**
 * Whether the row of a placement stays in memory. There may be many other rows, which are read only when
 * needed.
 */
export function isLivePlacement(row: PlacementRow): boolean {
  return row.state === "live" || row.end?.owed === true;
}

/** Fields of placements whose highest value is tracked. */
export const TRACKED_OF_PLACEMENTS: ("revision" | "at")[] = ["revision", "at"];

/** Adds an event to the record. `more.code`: why something was refused. */
export function note(
  record: WorkerRecord,
  type: string,
  message: string,
  now: Instant,
  more: { code?: string } = {},
): WorkerRecord {
  const event = { at: iso(now), type, ...more, message: message.slice(0, MAX_TEXT_CHARS) };
  return {
    ...record,
    reason: record.reason.slice(0, MAX_TEXT_CHARS),
    events: latestWithin([...record.events, event].slice(-MAX_WORKER_EVENTS), MAX_WORKER_EVENT_BYTES, (one) =>
      storedBytes(one.message),
    ),
  };
}

/** Sets the boot's outcome. The first outcome is final; without a machine there was no boot. */
export function withBootOutcome(record: WorkerRecord, outcome: BootOutcome): WorkerRecord {
  const hasMachine = record.createdAt !== null || record.secret !== null;
  return hasMachine && record.bootOutcome === null ? { ...record, bootOutcome: outcome } : record;
}

/** When the host was last heard from, by this process or an earlier one. */
export function lastHeardAt({ record, memo }: ReadonlyExistingWorker): Instant | null {
  return memo.lastReportAt ?? record.lastReportAt;
}
