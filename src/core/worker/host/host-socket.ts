import type { Orders } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { type Living, ordersRevision, type ReadonlyLiving, type WorkerState } from "../state.ts";
import { observationsDue, ordersFor } from "./report.ts";
import { unneeded } from "./retained-data.ts";

/**
 * What is kept with a host's socket, for the time after the object was evicted: the socket outlives it, the
 * memo does not.
 */
export interface LineNote {
  incarnation: number;
  /** When the socket was opened, or a report came last. */
  at: Instant;
  /** The `seq` of the latest report, and of the latest that was answered. */
  seq: number;
  answered: number;
  /** The revision of the orders that were sent last; -1: none. */
  revision: number;
  /** They said that the machine is over. */
  over: boolean;
  /** A full report has come, and all that was reported since has been answered by its allocation. */
  settled: boolean;
}

/** What the host is owed: `ask`, a full report wanted; or orders. */
export type Frame = { kind: "ask" } | { kind: "orders"; orders: Orders };

/** A socket that has just been opened for this start of the agent. */
export function newLine(state: ReadonlyLiving, now: Instant): LineNote {
  const { incarnation } = state.record;
  return { incarnation, at: now, seq: 0, answered: 0, revision: -1, over: false, settled: false };
}

/**
 * What a worker that was loaded while its host's socket lived goes on from. `heardAt`: the last sign of life
 * that the platform has answered by itself.
 */
export function resumeLine(state: WorkerState, note: LineNote, heardAt: Instant | null): WorkerState {
  if (note.incarnation !== state.record?.incarnation) return state;
  const lastSeq = Math.max(state.memo.lastSeq, note.seq);
  const lastReportAt = Math.max(note.at, Math.min(heardAt ?? 0, state.record.leaseUntil));
  return { ...state, memo: { ...state.memo, lastSeq, lastReportAt, whole: note.settled } };
}

/**
 * The host's socket has shown that it lives. It proves no attempt and grants no lease (rule R4). Reports
 * renew the lease long before its end: a host that lives and reports no more is silent from then on
 * (cases.md#case-8).
 */
export function foldHeard(state: Living, beatAt: Instant): WorkerState {
  const at = Math.min(beatAt, state.record.leaseUntil);
  if (at <= (state.memo.lastReportAt ?? 0)) return state;
  return { ...state, memo: { ...state.memo, lastReportAt: at } };
}

/**
 * What else is news to a host than a revision: bytes that are stored, data that nobody needs, and what it
 * holds that was never given to it.
 */
export function sideNews(state: ReadonlyLiving): string {
  const { logs, reported } = state.memo;
  const turnedAway = Object.keys(reported).filter((key) => reported[key]?.over === true);
  return JSON.stringify([logs, unneeded(state), turnedAway]);
}

/** The same, when there is none. */
export const NO_SIDE_NEWS = JSON.stringify([{}, [], []]);

/**
 * What the host is owed on its socket: an answer to each report, and orders that have changed. `side`: the
 * side news that it was told last, by this process.
 *
 * A worker that was loaded anew does not know what its host reports beyond its orders, and orders that omit
 * it would end it (rule R5): unless all of it had been settled, it asks for a full report first.
 *
 * Orders that answer no report grant no lease (rule R4).
 */
export function frameDue(
  state: ReadonlyLiving,
  note: LineNote,
  side: string,
  now: Instant,
): Frame | undefined {
  // The host begins with a full report.
  if (note.seq === 0) return undefined;
  const answers = note.seq > note.answered;
  const over = isOver(state);
  const news = ordersRevision(state) > note.revision || over !== note.over || sideNews(state) !== side;
  if (!answers && !news) return undefined;
  if (!state.memo.whole) return { kind: "ask" };
  const orders = ordersFor(state, note.seq, now);
  return { kind: "orders", orders: answers ? orders : { ...orders, leaseMs: 0 } };
}

/** Whether orders that change now leave for the host on this line at once (see `frameDue`). */
export function isListening({ record, memo }: ReadonlyLiving, note: LineNote): boolean {
  return note.incarnation === record.incarnation && note.seq > 0 && memo.whole;
}

/** The note after these orders were sent. */
export function sentOn(state: ReadonlyLiving, note: LineNote): LineNote {
  return { ...note, answered: note.seq, revision: ordersRevision(state), over: isOver(state) };
}

/** Whether nothing that this process remembers would be missed if it forgot it now. */
export function isSettled(state: ReadonlyLiving, now: Instant): boolean {
  return state.memo.whole && observationsDue(state, now).length === 0;
}

function isOver({ record: { phase } }: ReadonlyLiving): boolean {
  return phase === "shutdown" || phase === "gone";
}
