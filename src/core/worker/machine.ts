import type { Report } from "../../schema/host.ts";
import type { ProviderConfig } from "../../schema/pool.ts";
import { placementKey } from "../../shared/attempt-id.ts";
import type { Envelope, Instant, Machine } from "../../shared/machine.ts";
import { type Answered, foldMessage, isMessage, type Letter, type Message } from "../inbox.ts";
import type {
  CreateAnswer,
  CreateWorker,
  DestroyAnswer,
  Ended,
  IdleBehavior,
  WorkerUpsert,
  WorkerUpsertAnswer,
} from "../messages.ts";
import { type Enrollment, foldEnroll, foldJoin } from "./host/enrollment.ts";
import { foldHeard } from "./host/host-socket.ts";
import { behaviorOf } from "./host/notice.ts";
import { noteRefusal, type RefusalKind } from "./host/refusals.ts";
import { foldObserved, foldReport, observationsDue } from "./host/report.ts";
import { workerInbox } from "./inbox.ts";
import { foldBehavior } from "./life/behavior.ts";
import { callWaiting, callWanted, withTurn } from "./life/calls.ts";
import { foldCreateAnswer, foldDestroyAnswer } from "./life/create.ts";
import { foldTime, isToMakeRoom, lifeWakesAt, proposalAt } from "./life/deadlines.ts";
import { foldEnd, isSurelyUnmade } from "./life/forced.ts";
import { foldKill, type Kill } from "./life/kill.ts";
import { shutDown } from "./life/shutdown.ts";
import { endOf, foldTold, refuseUntold } from "./placements.ts";
import { poolKnows, upsertOf } from "./read/summary.ts";
import {
  isSelfHosted,
  type JoinNote,
  type Living,
  livePlacements,
  type ReadonlyLiving,
  type ReadonlyWorker,
  type WorkerRecord,
  type WorkerState,
} from "./state.ts";

export type WorkerEventIn =
  | { type: "tick" }
  | ({ type: "enroll" } & Enrollment)
  | ({ type: "join"; bootId: string } & JoinNote)
  | { type: "report"; report: Report }
  /** The host's socket showed at that time that it lives. */
  | { type: "heard"; at: Instant }
  /** Orders are leaving for the host: whatever is in them, it may hold from now on. */
  | { type: "told" }
  | { type: "behavior"; behavior: IdleBehavior; by: string }
  | ({ type: "kill" } & Kill)
  | { type: "refused_host"; kind: RefusalKind; reason: string }
  | { type: "create_answered"; answer: CreateAnswer }
  | { type: "destroy_answered"; answer: DestroyAnswer }
  | Message<"worker">
  | Answered<"allocation", "observed" | "ended">
  | Answered<"pool", "worker">;

export type WorkerMessage =
  | (Envelope &
      (
        | { kind: "create"; body: CreateWorker }
        | { kind: "destroy"; body: { worker: string; instance: string; provider: ProviderConfig } }
      ))
  | Letter<"allocation", "observed" | "ended">
  | Letter<"pool", "worker">;

/**
 * What a worker decides: the machine behind it from the intent to its observed end (workers.md#transitions).
 */
export const workerMachine: Machine<WorkerState, WorkerEventIn, WorkerMessage> = {
  apply(before, event, now) {
    const folded = fold(before, event, now);
    if (folded.record === null) return folded;
    // The record is there, and stays.
    const aged = foldTime(folded as Living, now) as Living;
    // As above.
    const told = refuseUntold(aged, now) as Living;
    return numbered(before, foldEnd(told, now));
  },

  due(state: ReadonlyWorker, now) {
    if (state.record === null) return [];
    const living: ReadonlyLiving = { ...state, record: state.record };
    return [...cloudCallsDue(living, now), ...talkDue(living, now)];
  },

  wakeAt(state: ReadonlyWorker) {
    if (state.record === null) return undefined;
    const living: ReadonlyLiving = { ...state, record: state.record };
    return lifeWakesAt(living);
  },
};

function cloudCallsDue(state: ReadonlyLiving, now: Instant): WorkerMessage[] {
  const { record } = state;
  const { intent } = record;
  if (intent.kind === "self-hosted") return [];
  const call = record.waits === true ? undefined : callWanted(record);
  if (call === "create") {
    if (record.createNotBefore !== null || now >= intent.notAfter) return [];
    return [{ to: "provider", kind: call, repeatedBy: "self", body: intent }];
  }
  if (call === undefined || record.instance === null) return [];
  const { worker, provider } = intent;
  const body = { worker, instance: record.instance.id, provider };
  return [{ to: "provider", kind: call, repeatedBy: "self", body }];
}

function talkDue(state: ReadonlyLiving, now: Instant): WorkerMessage[] {
  const { record } = state;
  const { worker, pool } = record.intent;
  const owed: WorkerMessage[] = [];
  const upsert = upsertOf(state, now);
  if (poolKnows(upsert) !== state.memo.poolHas) {
    // Nobody but its pool ends its wait for a turn.
    const repeatedBy = upsert.waits === undefined ? "peer" : "self";
    owed.push({ object: "pool", to: pool, kind: "worker", repeatedBy, body: upsert });
  }
  for (const body of observationsDue(state, now)) {
    const about = `${body.epoch}`;
    owed.push({ object: "allocation", to: body.run, about, kind: "observed", repeatedBy: "peer", body });
  }
  for (const row of state.placements.live()) {
    if (row.end === null || !row.end.owed) continue;
    const { run, epoch, end } = row;
    const body = { run, epoch, worker, ...endOf(record, end), at: row.at };
    owed.push({ object: "allocation", to: run, about: `${epoch}`, kind: "ended", repeatedBy: "self", body });
  }
  return owed;
}

function fold(state: WorkerState, event: WorkerEventIn, now: Instant): WorkerState {
  if (isMessage(workerInbox, event)) return foldMessage(workerInbox, state, event, now);
  if (state.record === null) return state;
  const living: Living = { ...state, record: state.record };
  switch (event.type) {
    case "tick":
      return state;
    case "enroll":
      return foldEnroll(living, event, now);
    case "join":
      return foldJoin(living, event, event.bootId, now);
    case "report":
      return foldReport(living, event.report, now);
    case "heard":
      return foldHeard(living, event.at);
    case "told":
      return foldTold(living, now);
    case "behavior":
      return foldBehavior(living, event.behavior, event.by, now);
    case "kill":
      return foldKill(living, event, now);
    case "refused_host":
      return { ...state, record: noteRefusal(living.record, event.kind, event.reason, now) };
    case "create_answered":
      return foldCreateAnswer(living, event.answer, now);
    case "destroy_answered":
      return foldDestroyAnswer(living, event.answer, now);
    case "observed_answered":
      return foldObserved(living, event.sent, event.answer, now);
    case "ended_answered":
      return foldEndedAnswer(living, event.sent, now);
    case "worker_answered":
      return foldPoolAnswer(living, event.sent, event.answer, now);
  }
}

function foldEndedAnswer(state: Living, sent: Ended, now: Instant): WorkerState {
  const key = placementKey(sent.run, sent.epoch);
  const row = state.placements.get(key);
  if (row?.end?.owed) state.placements.set(key, { ...row, end: { ...row.end, owed: false } }, now);
  return state;
}

/** The pool's word. With its consent the worker stops, if nothing has been placed on it in the meantime. */
function foldPoolAnswer(
  state: Living,
  sent: WorkerUpsert,
  answer: WorkerUpsertAnswer,
  now: Instant,
): WorkerState {
  const memo = { ...state.memo, poolHas: poolKnows(sent) };
  // A pool that does not know it gives it no turn.
  if (answer.kind === "no_such") return { ...state, record: withTurn(state.record) };
  const told: Living = { ...state, memo };
  if (!sent.wantsStop) return told;
  const { idleMs } = state.record.intent.settings;
  if (!answer.consent) {
    // A refused proposal is over: the next one is news, also if nothing else was said in between.
    const poolHas = poolKnows({ ...sent, wantsStop: false });
    const proposeAt = now + Math.max(idleMs, ASK_AGAIN_MS);
    return { ...told, memo: { ...memo, poolHas, proposeAt, makeRoomAt: null } };
  }
  const isFree = livePlacements(told).length === 0 && (proposalAt(told) ?? now + 1) <= now;
  const why = isToMakeRoom(told) ? MAKES_ROOM : "it was idle, and the pool does not need it";
  return isFree ? shutDown(told, why, now) : told;
}

const MAKES_ROOM = "it makes room for a run that comes first, and that it cannot hold";

/** How long to wait before asking again whether to stop, at least. */
const ASK_AGAIN_MS = 10_000;

/** What the pool can see of a change gets a new version. */
function numbered(before: WorkerState, after: WorkerState): WorkerState {
  const { record } = after;
  if (record === null || before.record === null || record === before.record) return after;
  const visible = (one: WorkerRecord) => {
    const { phase, reason, readyAt, acts, failure, prices, instance } = one;
    const machine = [instance?.id, instance?.address];
    // What a provider's machine has is told when it is ready, not when its host enrolls.
    const measured = isSelfHosted(one) ? one.measured : undefined;
    const told = [phase, behaviorOf(one), reason, readyAt, measured, acts, failure, prices];
    const ends = [isSurelyUnmade(one), one.forced];
    return [...told, ...machine, ...ends, callWaiting(one), one.doubles];
  };
  const old = visible(before.record);
  if (visible(record).every((value, i) => value === old[i])) return after;
  return { ...after, record: { ...record, version: before.record.version + 1 } };
}
