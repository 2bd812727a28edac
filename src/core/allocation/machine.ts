import type { RunSpec } from "../../schema/run/run.ts";
import { type Envelope, earliest, type Instant, type Machine } from "../../shared/machine.ts";
import { type Answered, foldMessage, isMessage, type Letter, type Message } from "../inbox.ts";
import type { Order, OrderAnswer, PoolAnswer } from "../messages.ts";
import { tasksOf } from "../spec.ts";
import { foldEnded, withdrawn } from "./end.ts";
import { areLogsOver, logsUntil, tombstoneUntil, withoutLogs, withoutOld, withQuestion } from "./forget.ts";
import { allocationInbox } from "./inbox.ts";
import { foldChunk, type StoredChunk } from "./output/chunks.ts";
import { phaseOf } from "./phase.ts";
import { isRestart, orderOf, revisionAt, withRevision } from "./placements/orders.ts";
import { confirmed, placed } from "./placements/placed.ts";
import { addEvent, inOrder } from "./read/events.ts";
import { withinBounds } from "./read/texts.ts";
import { settle } from "./settle.ts";
import { type AllocationRecord, type AllocationState, type Ask, EMPTY_MEMO, openPlacement } from "./state.ts";
import { upsertOf } from "./summary.ts";
import { groupWakesAt, orderMarks } from "./time/order-deadlines.ts";
import { deadlineOf } from "./time/time-limits.ts";
import { type Abort, foldAbort } from "./user/abort.ts";
import { poststopBy } from "./user/hurry.ts";
import { isRepeated, withAsk } from "./user/idempotency.ts";
import {
  foldRestart,
  foldSignal,
  type RestartWish,
  refusalOfWish,
  type SignalWish,
} from "./user/requests.ts";
import { foldUpdate } from "./user/update.ts";

export type AllocationEvent =
  | { type: "tick" }
  | { type: "submitted"; id: string; spec: RunSpec; hash: string }
  | ({ type: "abort" } & Abort)
  | { type: "restart"; wish: RestartWish; ask?: Ask | undefined }
  | { type: "signal"; wish: SignalWish; ask?: Ask | undefined }
  | { type: "update"; spec: RunSpec; specIndex: number; by: string }
  | { type: "chunk"; chunk: StoredChunk }
  /** Its logs were deleted wherever they lay, but for those in the record. */
  | { type: "logs_cleared" }
  | Message<"allocation">
  | Answered<"pool", "run">
  | Answered<"worker", "order">;

export type AllocationMessage =
  | Letter<"pool", "run">
  | Letter<"worker", "order">
  | (Envelope & { kind: "clear_logs" });

/** What an allocation decides (rules.md). */
export const allocationMachine: Machine<AllocationState, AllocationEvent, AllocationMessage> = {
  apply(stored, event, now) {
    const before = withQuestion(withoutOld(stored, now), now);
    const settled = settle(fold({ ...before, spill: [] }, event, now), now);
    const told = withinBounds(before, inOrder(before, settled));
    return remembered(numbered(before, withRevision(before, told, now)), event, now);
  },

  due(state, now) {
    const { record, memo } = state;
    if (record === null) return [];
    const owed: AllocationMessage[] = [];
    if (memo.poolHas < poolVersion(record)) {
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
        // Its time may be over before it is placed again.
        return phase.again ? earliest(phase.until, deadlineOf(record, null)) : phase.until;
      case "starting":
      case "running":
      case "uploading":
      case "backoff":
      case "restarting":
      case "stopping":
      case "unkillable":
        return earliest(groupWakesAt(record, state.memo.woken), poststopBy(record));
    }
  },
};

/**
 * What follows for the memo. The worker repeats `observed` until it has its answer, which is the order as it
 * is now: so the order need not be sent as well. And the marks up to now have been seen to.
 */
function remembered(state: AllocationState, event: AllocationEvent, now: Instant): AllocationState {
  const { record, memo } = state;
  const placement = openPlacement(state);
  if (record === null || record.ended || placement === null) return state;
  const passed = orderMarks(record).some((at) => at > memo.woken && at <= now);
  const woken = passed ? now : memo.woken;
  const asked = event.type === "observed" && event.body.held ? event.body : null;
  const answers = asked?.epoch === placement.epoch && asked.worker === placement.worker;
  const workerHas = answers ? `${placement.epoch}.${revisionAt(record, now)}` : memo.workerHas;
  if (woken === memo.woken && workerHas === memo.workerHas) return state;
  return { ...state, memo: { ...memo, woken, workerHas } };
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
      if (isRepeated(record, event.ask) || openPlacement(state) === null) return state;
      if (refusalOfWish({ ...state, record }, event.wish) !== null) return state;
      const next =
        event.type === "restart" ? foldRestart(record, event.wish, now) : foldSignal(record, event.wish, now);
      return { ...state, record: withAsk(next, event.ask) };
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
    wish: null,
    outcome: null,
    ended: false,
    tasks: tasksOf(event.spec).map(({ name }) => ({ name, attempts: [] })),
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
    // Nobody may lose a run that was acknowledged (invariant 1): then the pool has had it, and is told again.
    if (isAccepted(state)) return state;
    return { record: null, memo: { ...EMPTY_MEMO, refusal: answer }, spill: [] };
  }
  const told = confirmed(state, version);
  const keepLogsMs = answer.kind === "none" ? answer.keepLogsMs : undefined;
  const known = { ...told, memo: { ...told.memo, keepLogsMs, askAt: undefined } };
  if (answer.kind === "placed") return placed(known, answer, now);
  const noPlace =
    answer.kind === "none" && answer.version >= poolVersion(record) && openPlacement(state) === null;
  if (!noPlace || record.wish === null || record.ended) return known;
  return { ...known, record: withdrawn(record, record.wish, now) };
}

/** Whether the pool has, or has had, the run: what has ended or had a place was taken. */
export function isAccepted({ record, memo }: AllocationState): boolean {
  return memo.accepted || record?.ended === true || (record !== null && record.placements.length > 0);
}

/** Whether it is known if the pool takes the run. */
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
        { run: order.run, epoch: order.epoch, worker: placement.worker, ...answer },
        now,
      );
    case "no_such":
      return state;
  }
}

/**
 * A change that others can see gets a new version. Log bytes are no such change. Of a change that the pool's
 * row does not show, such as a restart, the pool is not told: each telling is a row. A wish is always told,
 * also by a run that wants no place by then: only what the pool says after it is its word that there is none.
 */
function numbered(before: AllocationState, after: AllocationState): AllocationState {
  const { record } = after;
  if (record === null || before.record === null || record === before.record) return after;
  const { logs: _before, ...old } = before.record;
  const { logs: _after, ...rest } = record;
  const keys = Object.keys({ ...old, ...rest }) as (keyof typeof rest)[]; // all of them are
  const same = keys.every((key) => rest[key] === old[key]);
  if (same) return after;
  const version = before.record.version + 1;
  const shown = (one: AllocationRecord) => {
    const upsert = upsertOf({ ...after, record: one });
    return JSON.stringify([{ ...upsert, version, epoch: 0 }, one.wish !== null]);
  };
  const told = shown(before.record) === shown(record) ? poolVersion(before.record) : version;
  return { ...after, record: { ...record, version, poolVersion: told } };
}

/**
 * Whether it has heard from its pool where it is. A run that was just loaded has not: it may have been placed
 * without storing that.
 */
export function hasHeardPool(state: AllocationState): boolean {
  const { record, memo } = state;
  if (record === null || record.ended || openPlacement(state) !== null) return true;
  return memo.poolHas >= poolVersion(record);
}

/** The version that the pool must have seen. */
function poolVersion(record: AllocationRecord): number {
  return record.poolVersion ?? record.version;
}

function orderKey(order: Order): string {
  return `${order.epoch}.${order.revision}`;
}
