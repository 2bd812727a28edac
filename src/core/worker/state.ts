import type { Reported } from "../../probes/believed.ts";
import type { BootOutcome, BootProbe } from "../../probes/boot.ts";
import type { HostClock } from "../../probes/host-clock.ts";
import type { Notice } from "../../probes/notice.ts";
import type { StaleRuns } from "../../probes/stale.ts";
import type { Resources } from "../../schema/common.ts";
import type { Sample, SignalOrder, StreamName } from "../../schema/host.ts";
import type { WorkerEvent } from "../../schema/pool.ts";
import { MAX_TEXT_CHARS, MAX_WORKER_EVENT_BYTES, MAX_WORKER_EVENTS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import type {
  EndedHow,
  IdleBehavior,
  Intent,
  SelfHosted,
  ToldPrice,
  WantedAttempt,
  WorkerFailure,
  WorkerPhase,
} from "../messages.ts";
import { NO_RESOURCES } from "../resources.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import { resourcesOfType } from "../spec.ts";
import { latestWithin, storedBytes } from "../stored-bytes.ts";

/** A period in which a run is bound to this worker. Ended ones are remembered for 24 h (rule R2). */
export interface PlacementRow {
  run: string;
  epoch: number;
  state: "live" | "ended";
  /** Our orders' revision in which it last changed: the highest of all rows is the revision of the orders. */
  revision: number;
  /** When it was accepted, or ended. */
  at: Instant;
  /** While live: the allocation's order, and what it needs. */
  order: {
    revision: number;
    attempts: WantedAttempt[];
    resources: Resources;
    signals?: SignalOrder[];
  } | null;
  /** Once ended: how, whether the host may have held it, and whether the allocation must still be told. */
  end: { how: EndedHow; held: boolean; owed: boolean } | null;
  /**
   * Its order was accepted when no host was there to hear it, and has not left for the host since: the host
   * cannot hold anything of it. Absent: the order has left, or was about to when it was accepted.
   */
  untold?: true;
}

/** A start of an agent that has joined, and when its host says that the call was signed. */
export interface JoinNote {
  /** The same in all calls of one start. */
  id: string;
  signedAt: Instant;
}

/** Everything about a worker that must survive, but for its placements. Stored as one value. */
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
  /** What came of its boot. Absent: nothing yet, or it is of an earlier version. */
  bootOutcome?: BootOutcome;
  /** What its host says of its machine's near end. Absent: nothing. */
  notice?: Notice;
  /** Runs of which something is left there that nobody supervises any more. Absent: none. */
  stale?: StaleRuns;
  secret: string | null;
  bootId: string | null;
  /** The boots before this one, latest last. Absent in what an earlier version has stored: none. */
  boots?: string[];
  /** When two clones were seen to start as this host by turns. Absent: they were not. */
  clonedAt?: Instant;
  /** What the host has measured when it enrolled. Absent: nothing, or an earlier version did not keep it. */
  measured?: Resources;
  /** What its agent acts on (`shared/means.ts`). Absent: it has not said, or is older than that word. */
  acts?: string[];
  /** What the provider has said that an hour of its machine costs, each change of it, latest last. */
  prices?: ToldPrice[];
  incarnation: number;
  /** The latest starts of its agent that have joined, the latest last. */
  joins: JoinNote[];
  /** The latest time at which a join was signed that is not remembered any more. Absent: all of them are. */
  joinsForgotten?: Instant;
  joinedAt: Instant | null;
  lastSeq: number;
  lastReportAt: Instant | null;
  /** How its host's clock and ours went together when this was last stored (`probes/host-clock.ts`). */
  hostClock?: HostClock | null;
  leaseUntil: Instant;
  /**
   * When we first saw that its host's lease, or its time to report, was over. What follows from that follows
   * some time later, so that a host is not charged with our own absence (rule R4). A report ends it.
   */
  overdueSince: Instant | null;
  /** When the latest complete listing that proves something began in which the instance was missing. */
  omittedAt: Instant | null;
  /**
   * When the latest create or destroy call ended: a listing begun too soon after it proves nothing (rule R5).
   */
  calledAt: Instant | null;
  /** When the provider was last asked to destroy it, and has not been seen to ignore that. */
  destroyAskedAt: Instant | null;
  /** How often it was asked, and since when. Absent: never, or by an earlier version alone. */
  destroys?: { tries: number; since: Instant };
  /** Until then the provider does not want to be asked again to make the machine; null: it may be asked. */
  createNotBefore: Instant | null;
  /** Its next call to the provider waits for its pool's turn (`calls.ts`). Absent: it may call. */
  waits?: true;
  /** Other machines that the provider lists under its name, by id (`doubles.ts`). Absent: none. */
  doubles?: string[];
  /** How the latest create call failed, while there is no machine. Absent: it did not. */
  failure?: WorkerFailure;
  /** How often a create call has failed, while there is no machine. Absent: never. */
  createTries?: number;
  /** A create call may have made a machine: its answer was lost, or left that open. Absent: none may. */
  mayBeMade?: true;
  /** A create call was under way when its end began, and has had no answer. Absent: none was. */
  calling?: true;
  /** Who has forced its end, so that no listing is waited for (`forced.ts`). Absent: nobody has. */
  forced?: string;
  /** By whom it was asked to be destroyed by name: only then with runs on it (invariant 4). */
  killedBy: string | null;
  goneAt: Instant | null;
  /** Floor of the orders' revision, for when rows are forgotten. */
  revision: number;
  events: WorkerEvent[];
}

/** A placement whose data the host keeps: when its allocation last said whether they may be needed. */
export interface Kept {
  run: string;
  epoch: number;
  answered?: { at: Instant; needed: boolean };
}

/** What a restart may forget. */
export interface WorkerMemo {
  lastSeq: number;
  /** When the host last reported, or gave a sign of life on its socket, as far as this process knows. */
  lastReportAt: Instant | null;
  /** How its host's clock and ours go together; null: it has not said what its clock says. */
  hostClock: HostClock | null;
  reported: Record<string, Reported>;
  /** By placement: what of `reported` its allocation has answered, and when. */
  heard: Record<string, { said: string; at: Instant; again: boolean }>;
  logs: Record<string, Partial<Record<StreamName, number>>>;
  /** Placements that are over and whose data the host keeps (`kept.ts`). */
  kept: Record<string, Kept>;
  /** What reports have cost so far beside themselves, in units (`pace.ts`). */
  spent: number;
  /** What runs here uses, as the host has said last, and when that was measured. */
  usage: { at: Instant; attempts: Record<string, Sample> } | null;
  /**
   * Whether this process knows all that the host holds: it has had a full report, or could go on from where
   * all of one was settled.
   */
  whole: boolean;
  /** What the pool has confirmed to know of us. */
  poolHas: string;
  /** When old placements were last forgotten. */
  forgotAt: Instant | null;
  /** The pool did not consent to our stopping: ask again then. */
  proposeAt: Instant;
  /** When the pool last asked it to make room. It asks again while it wants that. */
  makeRoomAt: Instant | null;
  /** An earlier process may have made a create call that had no answer: a refusal is then no proof. */
  mayHaveCalled: boolean;
}

/** A worker as `apply` consumes it: its table of placements changes in place. */
export interface WorkerState {
  record: WorkerRecord | null;
  placements: Rows<PlacementRow>;
  memo: WorkerMemo;
}

/** The state of a worker as it is loaded. */
export function loadedWorker(record: WorkerRecord | null, placements: Rows<PlacementRow>): WorkerState {
  const memo: WorkerMemo = {
    lastSeq: record?.lastSeq ?? 0,
    lastReportAt: null,
    hostClock: record?.hostClock ?? null,
    reported: {},
    heard: {},
    logs: {},
    kept: {},
    spent: 0,
    usage: null,
    whole: false,
    poolHas: "",
    forgotAt: null,
    proposeAt: 0,
    makeRoomAt: null,
    // One that waited for its turn had an answer to each of its calls, or knows of one that had none.
    mayHaveCalled: record?.waits !== true,
  };
  return { record, placements, memo };
}

/** A worker that exists. */
export type Living = WorkerState & { record: WorkerRecord };

/** A worker as readers see it: through this nothing changes. */
export interface ReadonlyWorker {
  readonly record: WorkerRecord | null;
  readonly placements: ReadonlyRows<PlacementRow>;
  readonly memo: Readonly<WorkerMemo>;
}

/** The same, of a worker that exists. */
export type ReadonlyLiving = ReadonlyWorker & { readonly record: WorkerRecord };

/** Whether its machine is self-hosted: no provider has made it, lists it or will destroy it. */
export function isSelfHosted(record: WorkerRecord): record is WorkerRecord & { intent: SelfHosted } {
  return record.intent.kind === "self-hosted";
}

/** What its machine has: what its type says, or what a host of one's own has measured. */
export function capacityOf({ intent, measured = NO_RESOURCES }: WorkerRecord): Resources {
  return intent.kind === "self-hosted" ? measured : resourcesOfType(intent.type);
}

/**
 * The bytes of memory that its host has measured; undefined: nothing is known. Of a self-hosted machine that
 * is what it has (`capacityOf`).
 */
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

/** The live placements whose order has not left for the host: nothing of them can be there. */
export function untoldPlacements(state: ReadonlyWorker): readonly PlacementRow[] {
  return state.placements.derive(liveAndUntold);
}

function liveAndUntold(rows: readonly PlacementRow[]): PlacementRow[] {
  return notEnded(rows).filter((row) => row.untold === true);
}

/** The revision of the orders: that of the placement that changed last. */
export function ordersRevision(state: ReadonlyLiving): number {
  return Math.max(state.record.revision, state.placements.highest("revision"));
}

/** Which placements are kept at hand: the others are only looked up, of which there may be very many. */
export function isLivePlacement(row: PlacementRow): boolean {
  return row.state === "live" || row.end?.owed === true;
}

/** The fields of placements of which the highest value matters. */
export const TRACKED_OF_PLACEMENTS: ("revision" | "at")[] = ["revision", "at"];

/** Changes the record, with an event that says so. `more.code`: of a refusal, why. */
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

/** When the host was last heard of, as far as that is stored or remembered. */
export function lastHeardAt({ record, memo }: ReadonlyLiving): Instant | null {
  return memo.lastReportAt ?? record.lastReportAt;
}
