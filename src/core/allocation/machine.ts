import type { RunSpec } from "../../schema/run.ts";
import { durationMs } from "../duration.ts";
import { type Envelope, earliest, type Instant, type Machine } from "../machine.ts";
import type { Ended, Observed, Order, OrderAnswer, Place, PoolAnswer, RunUpsert } from "../messages.ts";
import { tasksOf } from "../spec.ts";
import { foldChunk, type StoredChunk } from "./chunks.ts";
import { addEvent } from "./events.ts";
import { lastByteBy, logsComplete } from "./logs.ts";
import { foldObserved, isOver } from "./observe.ts";
import { deadlineOf, orderOf } from "./orders.ts";
import { givenUpKills, outcomeOf, outcomeOfGivenUpKill, outcomeOfLoss, outcomeOfWish } from "./outcome.ts";
import { closePlacement, newPlacement, storePlacement } from "./placement.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  EMPTY_MEMO,
  openPlacement,
  type Wish,
} from "./state.ts";
import { upsertOf } from "./summary.ts";

export type AllocationEvent =
  | { type: "tick" }
  /** Nothing has been heard of us for long: say everything again that others may have missed. */
  | { type: "poke" }
  | { type: "submitted"; id: string; spec: RunSpec; hash: string }
  | { type: "abort"; reason: string; by: string }
  | { type: "place"; place: Place }
  | { type: "observed"; observed: Observed }
  | { type: "chunk"; chunk: StoredChunk }
  | { type: "ended"; ended: Ended }
  | { type: "pool_answered"; version: number; answer: PoolAnswer }
  | { type: "order_answered"; order: Order; answer: OrderAnswer };

export type AllocationMessage = Envelope &
  ({ kind: "upsert"; body: RunUpsert } | { kind: "order"; body: Order });

/** What an allocation decides (`architecture.md` §2 to §5). */
export const allocationMachine: Machine<AllocationState, AllocationEvent, AllocationMessage> = {
  apply(before, event, now) {
    const folded = fold({ ...before, spill: [] }, event, now);
    return numbered(before, settle(folded, now));
  },

  due(state, now) {
    const { record, memo } = state;
    if (record === null) return [];
    const owed: AllocationMessage[] = [];
    if (memo.poolHas !== record.version) {
      owed.push({
        to: record.spec.pool,
        kind: "upsert",
        repeatedBy: "self",
        body: upsertOf(record, openPlacement(state)?.epoch ?? 0),
      });
    }
    const order = record.ended ? null : orderOf(state, now);
    const worker = openPlacement(state)?.worker;
    if (order !== null && worker !== undefined && memo.workerHas !== orderKey(order)) {
      owed.push({ to: worker, kind: "order", repeatedBy: "self", body: order });
    }
    return owed;
  },

  wakeAt(state) {
    const { record } = state;
    if (record === null || record.ended) return undefined;
    if (record.outcome !== null) return lastByteBy(record, record.outcome.at);
    if (record.wish !== null) return undefined;
    return earliest(queueDeadline(state), deadlineOf(record, openPlacement(state)?.from ?? null));
  },
};

function fold(state: AllocationState, event: AllocationEvent, now: Instant): AllocationState {
  const { record } = state;
  if (event.type === "submitted") return record === null ? submit(event, now) : state;
  if (record === null) return state;
  switch (event.type) {
    case "tick":
      return state;
    case "poke":
      return { ...state, memo: { ...state.memo, poolHas: 0, workerHas: "" } };
    case "abort":
      return {
        ...state,
        record: wish(record, {
          state: "aborted",
          at: now,
          reason: event.reason,
          by: event.by,
          failure: null,
        }),
      };
    case "place":
      // An earlier submission under this id was refused, and yet the pool has it: that is not this run.
      if (event.place.submittedAt !== record.submittedAt) return state;
      return placed(confirmed(state, event.place.version), event.place.worker, event.place.epoch, now);
    case "observed":
      return foldObserved(state, event.observed, now);
    case "chunk":
      return foldChunk(state, event.chunk, now);
    case "ended":
      return foldEnded(state, event.ended, now);
    case "pool_answered":
      return foldPoolAnswer(state, event.version, event.answer, now);
    case "order_answered":
      return foldOrderAnswer(state, event.order, event.answer, now);
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

/** Stores a wish, once: the first one decides, and an exit that is stored already outranks it. */
function wish(record: AllocationRecord, wanted: Wish): AllocationRecord {
  if (record.wish !== null || record.outcome !== null) return record;
  const killing = addEvent({ ...record, wish: wanted }, "Killing", wanted.at, wanted.reason, {
    details: { by: wanted.by },
  });
  return { ...killing, revision: record.revision + 1 };
}

function placed(state: AllocationState, worker: string, epoch: number, now: Instant): AllocationState {
  const { record, memo } = state;
  if (record === null || record.ended) return state;
  if (epoch !== record.endedEpoch + 1 || openPlacement(state) !== null) return state;
  const placement = newPlacement(worker, epoch, now);
  // The pool has stored it and repeats it. Only a time limit must not start again after a crash.
  if (record.spec.timeout === undefined) return { ...state, memo: { ...memo, placement } };
  return { ...state, record: storePlacement(record, placement) };
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
    if (state.memo.accepted || record.ended || record.placements.length > 0) return state;
    return { record: null, memo: { ...EMPTY_MEMO, refusal: answer }, spill: [] };
  }
  const known = confirmed(state, version);
  if (answer.kind === "placed") return placed(known, answer.worker, answer.epoch, now);
  const noPlace = answer.kind === "none" && answer.version >= record.version && openPlacement(state) === null;
  if (!noPlace || record.wish === null || record.ended) return known;
  return { ...known, record: finish(record, outcomeOfWish(record.wish, now), now) };
}

/** The pool has the run as it was at `version`. */
function confirmed(state: AllocationState, version: number): AllocationState {
  const { memo } = state;
  return { ...state, memo: { ...memo, accepted: true, poolHas: Math.max(memo.poolHas, version) } };
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
 * The worker's word that the placement is over (rule R2): what follows depends on what can have been started.
 */
function foldEnded(state: AllocationState, ended: Ended, now: Instant): AllocationState {
  const { record, memo } = state;
  if (record === null || record.ended || ended.epoch !== record.endedEpoch + 1) return state;
  const placement = openPlacement(state) ?? newPlacement(ended.worker, ended.epoch, now);
  if (placement.worker !== ended.worker) return state;
  const closed = closePlacement(record, placement, ended.how, now);
  const next = { ...state, memo: { ...memo, placement: null } };
  if (record.outcome !== null) return { ...next, record: finish(closed, record.outcome, now) };
  const [stuck] = givenUpKills(record, ended.epoch);
  if (stuck !== undefined) return { ...next, record: finish(closed, outcomeOfGivenUpKill(stuck, now), now) };
  if (record.wish !== null) return { ...next, record: finish(closed, outcomeOfWish(record.wish, now), now) };
  if (!ended.held || ended.how === "refused") return { ...next, record: closed };
  return { ...next, record: finish(closed, outcomeOfLoss(ended.worker, now), now) };
}

/** What time and the state of the tasks bring about, whatever the event was. */
function settle(state: AllocationState, now: Instant): AllocationState {
  const { record } = state;
  if (record === null || record.ended) return state;
  const placement = openPlacement(state);
  const late = wishOfTime(state, now);
  let next = late === null ? record : wish(record, late);
  const attempt = placement === null ? undefined : mainAttempt(next, placement.epoch);
  if (placement === null || attempt === undefined || !isOver(attempt)) return { ...state, record: next };
  if (next.outcome === null) next = { ...next, outcome: outcomeOf(next, attempt, now) };
  const outcome = next.outcome;
  if (outcome === null) return { ...state, record: next };
  const complete = logsComplete(next, attempt.id);
  if (!complete && now < lastByteBy(next, outcome.at)) return { ...state, record: next };
  return { ...state, record: finish(closePlacement(next, placement, "gone", now), outcome, now) };
}

/** The short form has one task; with groups, this is where their common end is decided. */
function mainAttempt(record: AllocationRecord, epoch: number) {
  return record.tasks[0]?.attempts.findLast((attempt) => attempt.epoch === epoch);
}

function wishOfTime(state: AllocationState, now: Instant): Wish | null {
  const { record } = state;
  if (record === null) return null;
  const deadline = deadlineOf(record, openPlacement(state)?.from ?? null);
  if (deadline !== undefined && now >= deadline) {
    const reason = `the time limit of ${record.spec.timeout} was reached`;
    return { state: "timedout", at: now, reason, by: "drover", failure: null };
  }
  const queued = queueDeadline(state);
  if (queued !== undefined && now >= queued) {
    const reason = `no place was found within the queueTimeout of ${record.spec.queueTimeout}`;
    return { state: "failed", at: now, reason, by: "drover", failure: "queue_timeout" };
  }
  return null;
}

function queueDeadline(state: AllocationState): Instant | undefined {
  const { record } = state;
  if (record?.spec.queueTimeout === undefined || openPlacement(state) !== null) return undefined;
  return record.waitingSince + durationMs(record.spec.queueTimeout);
}

function finish(
  record: AllocationRecord,
  outcome: AllocationRecord["outcome"],
  now: Instant,
): AllocationRecord {
  let noted = record;
  const attempts = record.tasks.flatMap((task) => task.attempts);
  if (attempts.some((attempt) => !logsComplete(record, attempt.id))) {
    noted = addEvent(noted, "Log Truncated", now, "the last bytes of the logs did not arrive before the end");
  }
  const details = killErrorOf(attempts);
  if ((record.wish !== null && attempts.length > 0) || "kill_error" in details)
    noted = addEvent(noted, "Killed", now, "everything of it has ended", { details });
  return { ...noted, outcome, ended: true };
}

/** Nomad's detail of `Killed` (`nomad.md` §1.4): its host had given up killing it. */
function killErrorOf(attempts: AttemptRecord[]): Record<string, string> {
  const error = attempts.find(({ killError }) => killError !== null)?.killError;
  return error === undefined || error === null ? {} : { kill_error: error };
}

/**
 * A change that others can see gets a new version. Log bytes are no such change: they would cost the pool a
 * row each.
 */
function numbered(before: AllocationState, after: AllocationState): AllocationState {
  const { record } = after;
  if (record === null || before.record === null || record === before.record) return after;
  const { logs: _before, ...old } = before.record;
  const { logs: _after, ...rest } = record;
  const keys = Object.keys(rest) as (keyof typeof rest)[]; // all of them are: it has just been made
  const same = keys.every((key) => rest[key] === old[key]);
  return same ? after : { ...after, record: { ...record, version: before.record.version + 1 } };
}

function orderKey(order: Order): string {
  return `${order.epoch}.${order.revision}`;
}
