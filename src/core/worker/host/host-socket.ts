// Which frame must be sent to a host, and how does a worker resume the host's socket after its own eviction?
import type { Orders } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import {
  type ExistingWorker,
  isEnding,
  livePlacements,
  ordersRevision,
  type ReadonlyExistingWorker,
  type WorkerState,
} from "../state.ts";
import { observationsDue, ordersFor } from "./report.ts";
import { unneeded } from "./retained-data.ts";

/** The state attached to a host's socket. Unlike the memo, it outlives an eviction of the object. */
export interface SocketAttachment {
  incarnation: number;
  /** When the socket was opened, or the latest report arrived. */
  at: Instant;
  /** The `seq` of the latest report, and of the latest report that was answered. */
  seq: number;
  answered: number;
  /** The revision of the orders that were sent last; -1: no orders were sent. */
  revision: number;
  /** The orders that were sent last told the host to power off (`powerOff`). */
  over: boolean;
  /** A full report has arrived, and the allocations have answered all reports about their attempts. */
  settled: boolean;
}

/** A frame to send to the host: `ask` for a full report, or orders. */
export type Frame = { kind: "ask" } | { kind: "orders"; orders: Orders };

/** The attachment of a new socket. */
export function newAttachment(state: ReadonlyExistingWorker, now: Instant): SocketAttachment {
  const { incarnation } = state.record;
  return { incarnation, at: now, seq: 0, answered: 0, revision: -1, over: false, settled: false };
}

/**
 * Resumes a socket that outlived the object's memory. `heardAt`: the last sign of life that the platform
 * answered without waking the object.
 */
export function resumeSocket(
  state: WorkerState,
  note: SocketAttachment,
  heardAt: Instant | null,
): WorkerState {
  if (note.incarnation !== state.record?.incarnation) return state;
  const lastSeq = Math.max(state.memo.lastSeq, note.seq);
  const lastReportAt = Math.max(note.at, Math.min(heardAt ?? 0, state.record.leaseUntil));
  return { ...state, memo: { ...state.memo, lastSeq, lastReportAt, whole: note.settled } };
}

/**
 * Notes a sign of life on the socket, which says nothing about attempts and grants no lease (rule R4). A sign
 * of life counts until the lease ends. After that, a host that is alive but no longer reports counts as
 * silent (cases.md#case-8).
 */
export function foldHeard(state: ExistingWorker, beatAt: Instant): WorkerState {
  const at = Math.min(beatAt, state.record.leaseUntil);
  if (at <= (state.memo.lastReportAt ?? 0)) return state;
  return { ...state, memo: { ...state.memo, lastReportAt: at } };
}

/**
 * The news for a host that does not change the revision of its orders: stored log bytes, data that the host
 * may drop, and attempts that the host reports but no allocation wants.
 */
export function sideNews(state: ReadonlyExistingWorker): string {
  const { logs, reported } = state.memo;
  const turnedAway = Object.keys(reported).filter((key) => reported[key]?.over === true);
  return JSON.stringify([logs, unneeded(state), turnedAway]);
}

/** The value of `sideNews` if there is no such news. */
export const NO_SIDE_NEWS = JSON.stringify([{}, [], []]);

/**
 * The frame to send to the host: an answer to each report, or changed orders. `side`: the side news
 * (`sideNews`) that this process sent last.
 *
 * A worker that was just loaded does not know which attempts its host has besides the ordered attempts.
 * Orders that omit such an attempt would end the attempt (rule R5). So the worker asks for a full report
 * first, unless all reports were settled. Orders that answer no report grant no lease (rule R4).
 */
export function frameDue(
  state: ReadonlyExistingWorker,
  note: SocketAttachment,
  side: string,
  now: Instant,
): Frame | undefined {
  // Nothing is sent before the host's first report, which is full.
  if (note.seq === 0) return undefined;
  const answers = note.seq > note.answered;
  const over = isEnding(state.record);
  const news = ordersRevision(state) > note.revision || over !== note.over || sideNews(state) !== side;
  if (!answers && !news) return undefined;
  if (!state.memo.whole) return { kind: "ask" };
  const orders = ordersFor(state, note.seq, now);
  return { kind: "orders", orders: answers ? orders : { ...orders, leaseMs: 0 } };
}

/**
 * Whether the orders that are due may wait a little for others: they only answer a report, say which bytes
 * are stored, or omit what has ended (host-protocol.md#gathered). The first answer on a socket never waits.
 */
export function mayWait(state: ReadonlyExistingWorker, note: SocketAttachment): boolean {
  if (note.revision < 0 || isEnding(state.record) !== note.over) return false;
  return livePlacements(state).every(({ revision }) => revision <= note.revision);
}

/** Whether changed orders are sent on this socket at once (see `frameDue`). */
export function isListening({ record, memo }: ReadonlyExistingWorker, note: SocketAttachment): boolean {
  return note.incarnation === record.incarnation && note.seq > 0 && memo.whole;
}

/** The attachment after orders were sent. */
export function afterOrders(state: ReadonlyExistingWorker, note: SocketAttachment): SocketAttachment {
  return { ...note, answered: note.seq, revision: ordersRevision(state), over: isEnding(state.record) };
}

/** Whether this process could lose its memory without losing any news. */
export function isSettled(state: ReadonlyExistingWorker, now: Instant): boolean {
  return state.memo.whole && observationsDue(state, now).length === 0;
}
