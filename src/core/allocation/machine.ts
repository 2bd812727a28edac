// What does an allocation decide about its run (rules.md)?
import type { RunSpec } from "../../schema/run/run.ts";
import { type Envelope, earliest, type Instant, type Machine } from "../../shared/machine.ts";
import { type Answered, foldMessage, isMessage, type Letter, type Message } from "../inbox.ts";
import type { Order, OrderAnswer, PoolAnswer } from "../messages.ts";
import { tasksOf } from "../spec.ts";
import { allocationInvariants } from "./check.ts";
import { finishWithdrawn, foldEnded } from "./end.ts";
import { areLogsOver, logsUntil, tombstoneUntil, withoutLogs, withoutOld, withQuestion } from "./forget.ts";
import { allocationInbox } from "./inbox.ts";
import { foldChunk, type StoredChunk } from "./output/chunks.ts";
import { phaseOf } from "./phase.ts";
import { isRestart, orderOf, revisionAt, withRevision } from "./placements/orders.ts";
import { isAccepted, withPlacement, withPoolVersion } from "./placements/placed.ts";
import { addEvent, inOrder } from "./read/events.ts";
import { withinBounds } from "./read/texts.ts";
import { settle } from "./settle.ts";
import {
  type AllocationRecord,
  type AllocationState,
  EMPTY_MEMO,
  newTask,
  openPlacement,
  type RequestKey,
} from "./state.ts";
import { upsertOf } from "./summary.ts";
import { groupWakesAt, orderChangesAt } from "./time/order-deadlines.ts";
import { deadlineOf } from "./time/time-limits.ts";
import { type Abort, foldAbort } from "./user/abort.ts";
import { poststopBy } from "./user/hurry.ts";
import { isRepeated, withRequestKey } from "./user/idempotency.ts";
import { foldRestart, foldSignal, type TaskRestart, type TaskSignal, whyRefused } from "./user/requests.ts";
import { foldUpdate } from "./user/update.ts";

export type AllocationEvent =
  | { type: "tick" }
  | { type: "submitted"; id: string; spec: RunSpec; hash: string }
  | ({ type: "abort" } & Abort)
  | { type: "restart"; request: TaskRestart; key?: RequestKey | undefined }
  | { type: "signal"; request: TaskSignal; key?: RequestKey | undefined }
  | { type: "update"; spec: RunSpec; specIndex: number; by: string }
  | { type: "chunk"; chunk: StoredChunk }
  /** The logs were deleted everywhere but in the record. */
  | { type: "logs_cleared" }
  | Message<"allocation">
  | Answered<"pool", "run">
  | Answered<"worker", "order">;

export type AllocationMessage =
  | Letter<"pool", "run">
  | Letter<"worker", "order">
  | (Envelope & { kind: "clear_logs" });

/** The machine of a run. */
export const allocationMachine: Machine<AllocationState, AllocationEvent, AllocationMessage> = {
  name: "allocation",
  invariants: allocationInvariants,

  apply(stored, event, now) {
    const before = withQuestion(withoutOld(stored, now), now);
    const settled = settle(fold({ ...before, spill: [] }, event, now), now);
    const bounded = withinBounds(before, inOrder(before, settled));
    return withMemo(withVersion(before, withRevision(before, bounded, now)), event, now);
  },

  due(state, now) {
    const { record, memo } = state;
    if (record === null) return [];
    const owed: AllocationMessage[] = [];
    if (memo.poolHas < record.poolVersion) {
      owed.push({
        object: "pool",
        to: record.spec.pool,
        kind: "run",
        repeatedBy: "self",
        body: upsertOf({ ...state, record }),
      });
    }
    if (areLogsOver(state, now)) owed.push({ to: "logs", kind: "clear_logs", repeatedBy: "self" });
    const order = record.ended ? null : orderOf(state, now);
    const worker = openPlacement(state)?.worker;
    if (order !== null && worker !== undefined && memo.workerHas !== orderKey(order)) {
      const repeatedBy = isRestart(record) ? "peer" : "self";
      owed.push({ object: "worker", to: worker, kind: "order", repeatedBy, body: order });
    }
    return owed;
  },

  wakeAt(state) {
    const { record } = state;
    if (record === null) return tombstoneUntil(state);
    const phase = phaseOf({ ...state, record });
    switch (phase.kind) {
      case "ended":
        return earliest(logsUntil(state), state.memo.askAt);
      case "withdrawing":
        return undefined;
      case "waiting":
        return earliest(phase.until, deadlineOf(record, null));
      case "rescheduling":
        return earliest(phase.at, deadlineOf(record, null));
      case "storing_data":
      case "last_bytes":
        // The time limit may be reached before the run is placed again.
        return phase.again ? earliest(phase.until, deadlineOf(record, null)) : phase.until;
      case "starting":
      case "running":
      case "uploading":
      case "backoff":
      case "restarting":
      case "stopping":
      case "unkillable":
        return earliest(groupWakesAt(record, state.memo.handledUpTo), poststopBy(record));
    }
  },
};

/**
 * Notes in the memo which order changes have been handled, and that the worker has the present order: it
 * receives it as the answer to `observed`, so it need not be sent.
 */
function withMemo(state: AllocationState, event: AllocationEvent, now: Instant): AllocationState {
  const { record, memo } = state;
  const placement = openPlacement(state);
  if (record === null || record.ended || placement === null) return state;
  const passed = orderChangesAt(record).some((at) => at > memo.handledUpTo && at <= now);
  const handledUpTo = passed ? now : memo.handledUpTo;
  const asked = event.type === "observed" && event.body.held ? event.body : null;
  const answers = asked?.epoch === placement.epoch && asked.worker === placement.worker;
  const workerHas = answers ? `${placement.epoch}.${revisionAt(record, now)}` : memo.workerHas;
  if (handledUpTo === memo.handledUpTo && workerHas === memo.workerHas) return state;
  return { ...state, memo: { ...memo, handledUpTo, workerHas } };
}

function fold(state: AllocationState, event: AllocationEvent, now: Instant): AllocationState {
  const { record } = state;
  if (event.type === "submitted")
    return record === null && state.tombstone === undefined ? submit(event, now) : state;
  if (record === null) return state;
  if (isMessage(allocationInbox, event)) return foldMessage(allocationInbox, state, event, now);
  switch (event.type) {
    case "tick":
      return state;
    case "abort":
      return foldAbort(state, event, now);
    case "restart":
    case "signal": {
      if (isRepeated(record, event.key) || openPlacement(state) === null) return state;
      if (whyRefused({ ...state, record }, event.request) !== null) return state;
      const next =
        event.type === "restart"
          ? foldRestart(record, event.request, now)
          : foldSignal(record, event.request, now);
      return { ...state, record: withRequestKey(next, event.key) };
    }
    case "update":
      return { ...state, record: foldUpdate(record, event.spec, event.specIndex, event.by, now) };
    case "chunk":
      return foldChunk(state, event.chunk, now);
    case "logs_cleared":
      return withoutLogs(state, now);
    case "run_answered":
      return foldPoolAnswer(state, event.sent.version, event.answer, now);
    case "order_answered":
      return foldOrderAnswer(state, event.sent, event.answer, now);
  }
}

function submit(event: { id: string; spec: RunSpec; hash: string }, now: Instant): AllocationState {
  const record: AllocationRecord = {
    id: event.id,
    spec: event.spec,
    hash: event.hash,
    version: 1,
    submittedAt: now,
    waitingSince: now,
    firstPlacedAt: null,
    placements: [],
    endedEpoch: 0,
    revision: 1,
    stopRequest: null,
    outcome: null,
    ended: false,
    tasks: tasksOf(event.spec).map(({ name }) => newTask(name)),
    specIndex: 1,
    signals: [],
    signaled: 0,
    asks: [],
    reschedules: [],
    poolVersion: 1,
    events: [],
    eventsDropped: 0,
    logs: {},
  };
  return { record: addEvent(record, "Received", now, "the run was submitted"), memo: EMPTY_MEMO, spill: [] };
}

function foldPoolAnswer(
  state: AllocationState,
  version: number,
  answer: PoolAnswer,
  now: Instant,
): AllocationState {
  const { record } = state;
  if (record === null) return state;
  if (answer.kind === "refused") {
    // An acknowledged run is never lost (invariant 1): the pool had it, and gets it again.
    if (isAccepted(state)) return state;
    return { record: null, memo: { ...EMPTY_MEMO, refusal: answer }, spill: [] };
  }
  const heard = withPoolVersion(state, version);
  const keepLogsMs = answer.kind === "none" ? answer.keepLogsMs : undefined;
  const known = { ...heard, memo: { ...heard.memo, keepLogsMs, askAt: undefined } };
  if (answer.kind === "placed") return withPlacement(known, answer, now);
  const noPlace =
    answer.kind === "none" && answer.version >= record.poolVersion && openPlacement(state) === null;
  if (!noPlace || record.stopRequest === null || record.ended) return known;
  return { ...known, record: finishWithdrawn(record, record.stopRequest, now) };
}

/** Whether the pool has taken or refused the run. */
export function isDecided(state: AllocationState): boolean {
  return isAccepted(state) || state.memo.refusal !== null;
}

function foldOrderAnswer(
  state: AllocationState,
  order: Order,
  answer: OrderAnswer,
  now: Instant,
): AllocationState {
  const placement = openPlacement(state);
  if (placement === null || placement.epoch !== order.epoch) return state;
  switch (answer.kind) {
    case "accepted":
      return { ...state, memo: { ...state.memo, workerHas: orderKey(order) } };
    case "ended":
      return foldEnded(
        state,
        { run: order.run, epoch: order.epoch, worker: placement.worker, at: now, ...answer },
        now,
      );
    case "no_such":
      return state;
  }
}

/**
 * Numbers a change that readers can see; log bytes do not count. The pool hears of it only if its row would
 * show it, since each upsert is a written row. It hears of each request to stop: a run without a placement
 * may end only after the pool has confirmed the request.
 */
function withVersion(before: AllocationState, after: AllocationState): AllocationState {
  const { record } = after;
  if (record === null || before.record === null || record === before.record) return after;
  const { logs: _before, ...old } = before.record;
  const { logs: _after, ...rest } = record;
  const keys = Object.keys({ ...old, ...rest }) as (keyof typeof rest)[]; // the keys of both
  const same = keys.every((key) => rest[key] === old[key]);
  if (same) return after;
  const version = before.record.version + 1;
  const shown = (one: AllocationRecord) => {
    const upsert = upsertOf({ ...after, record: one });
    return JSON.stringify([{ ...upsert, version, epoch: 0 }, one.stopRequest !== null]);
  };
  const seenByPool = shown(before.record) === shown(record) ? before.record.poolVersion : version;
  return { ...after, record: { ...record, version, poolVersion: seenByPool } };
}

/**
 * Whether the pool has said where the run is. A run that was just loaded does not know this: it may have a
 * placement that was never stored.
 */
export function hasHeardPool(state: AllocationState): boolean {
  const { record, memo } = state;
  if (record === null || record.ended || openPlacement(state) !== null) return true;
  return memo.poolHas >= record.poolVersion;
}

function orderKey(order: Order): string {
  return `${order.epoch}.${order.revision}`;
}
