// What does a worker decide about its machine, from the intent to the observed end (workers.md#transitions)?
import type { BootReport } from "../../probes/boot-record.ts";
import type { Report } from "../../schema/host.ts";
import type { ProviderConfig } from "../../schema/pool/provider-config.ts";
import { placementKey } from "../../shared/attempt-id.ts";
import type { Envelope, Instant, Machine, Millis } from "../../shared/machine.ts";
import { confirmed } from "../audit/outbox.ts";
import { type Answered, foldMessage, isMessage, type Letter, type Message } from "../inbox.ts";
import type { CreateWorker, Ended, WorkerUpsert, WorkerUpsertAnswer } from "../messages.ts";
import type { CreateAnswer, DestroyAnswer, FindAnswer } from "../provider-answers.ts";
import { noteAudit, type OperatorEvent, type SecretsHanded } from "./audit.ts";
import { workerInvariants } from "./check.ts";
import { foldBoot } from "./host/boot-record.ts";
import { type Enrollment, foldEnroll, foldJoin } from "./host/enrollment.ts";
import { foldHeard } from "./host/host-socket.ts";
import { noteRefusal, type RefusalKind } from "./host/refusals.ts";
import { foldObserved, foldReport, observationsDue } from "./host/report.ts";
import { workerInbox } from "./inbox.ts";
import { behaviorOf, foldBehavior } from "./life/behavior.ts";
import { afterRestart, callWaiting, callWanted, withCall, withTurn } from "./life/calls.ts";
import { foldCreateAnswer, foldDestroyAnswer } from "./life/create.ts";
import { foldTime, isToMakeRoom, lifeWakesAt, proposalAt } from "./life/deadlines.ts";
import { foldEnd, foldKill, isSurelyUnmade } from "./life/kill.ts";
import { shutDown } from "./life/shutdown.ts";
import { foldFound } from "./life/sighting.ts";
import { endOf, foldOrdersSent, refuseUndelivered } from "./placements.ts";
import { upsertKey, upsertOf } from "./read/summary.ts";
import {
  type ExistingWorker,
  isSelfHosted,
  type JoinNote,
  livePlacements,
  type ReadonlyExistingWorker,
  type ReadonlyWorker,
  type WorkerRecord,
  type WorkerState,
} from "./state.ts";

export type WorkerEvent =
  | { type: "tick" }
  | ({ type: "enroll" } & Enrollment)
  | ({ type: "join"; bootId: string } & JoinNote)
  | ({ type: "boot" } & BootReport)
  | { type: "report"; report: Report }
  /** The host's socket showed a sign of life at this time. */
  | { type: "heard"; at: Instant }
  /** Orders are being sent to the host. From now on, the host may have everything that they contain. */
  | { type: "orders_sent" }
  | OperatorEvent
  | SecretsHanded
  | { type: "refused_host"; kind: RefusalKind; reason: string }
  | ({ type: "create_answered"; answer: CreateAnswer } & Took)
  | ({ type: "destroy_answered"; answer: DestroyAnswer } & Took)
  | ({ type: "find_answered"; answer: FindAnswer } & Took)
  | Message<"worker">
  | Answered<"allocation", "observed" | "ended">
  | Answered<"pool", "worker">;

/** How long a call to the provider took. Absent: unknown, and then the call is not counted. */
interface Took {
  tookMs?: Millis;
}

/** The worker's machine, as its provider knows it. `instance`: null if no answer has named it. */
export interface OwnMachine {
  worker: string;
  instance: string | null;
  zone: string | null;
  provider: ProviderConfig;
}

export type WorkerMessage =
  | (Envelope & ({ kind: "create"; body: CreateWorker } | { kind: "destroy" | "find"; body: OwnMachine }))
  | Letter<"allocation", "observed" | "ended">
  | Letter<"pool", "worker">;

/** The state machine of a worker. */
export const workerMachine: Machine<WorkerState, WorkerEvent, WorkerMessage> = {
  name: "worker",
  invariants: workerInvariants,

  apply(before, event, now) {
    const known = afterRestart(before, now);
    const folded = noteAudit(known, fold(known, event, now), event, now);
    if (folded.record === null) return folded;
    // A record never disappears.
    const aged = foldTime(folded as ExistingWorker, now) as ExistingWorker;
    const refused = refuseUndelivered(aged, now) as ExistingWorker; // see above
    return withVersion(before, foldEnd(refused, now));
  },

  due(state: ReadonlyWorker, now) {
    if (state.record === null) return [];
    const living: ReadonlyExistingWorker = { ...state, record: state.record };
    return [...cloudCallsDue(living, now), ...messagesDue(living, now)];
  },

  wakeAt(state: ReadonlyWorker) {
    if (state.record === null) return undefined;
    const living: ReadonlyExistingWorker = { ...state, record: state.record };
    return lifeWakesAt(living);
  },
};

function cloudCallsDue(state: ReadonlyExistingWorker, now: Instant): WorkerMessage[] {
  const { record } = state;
  const { intent } = record;
  if (intent.kind === "self-hosted") return [];
  const call = record.waits ? undefined : callWanted(record);
  if (call === "find") {
    return [{ to: "provider", kind: call, repeatedBy: "self", body: machineOf(record, intent) }];
  }
  if (call === "create") {
    if (record.createNotBefore !== null || now >= intent.notAfter) return [];
    return [{ to: "provider", kind: call, repeatedBy: "self", body: intent }];
  }
  if (call === undefined || record.instance === null) return [];
  return [{ to: "provider", kind: call, repeatedBy: "self", body: machineOf(record, intent) }];
}

function machineOf({ instance, zone }: WorkerRecord, { worker, provider }: CreateWorker): OwnMachine {
  return { worker, instance: instance?.id ?? null, zone, provider };
}

function messagesDue(state: ReadonlyExistingWorker, now: Instant): WorkerMessage[] {
  const { record } = state;
  const { worker, pool } = record.intent;
  const owed: WorkerMessage[] = [];
  const upsert = upsertOf(state, now);
  if (upsertKey(upsert) !== state.memo.poolHas) {
    // Only the pool can end a worker's wait for its turn, and nobody else repeats what was done to it.
    const repeatedBy = upsert.waits === null && upsert.audit === undefined ? "peer" : "self";
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

function fold(state: WorkerState, event: WorkerEvent, now: Instant): WorkerState {
  if (isMessage(workerInbox, event)) return foldMessage(workerInbox, state, event, now);
  if (state.record === null) return state;
  const living: ExistingWorker = { ...state, record: state.record };
  switch (event.type) {
    case "tick":
    case "secrets_handed": // only has an entry of the log
      return state;
    case "enroll":
      return foldEnroll(living, event, now);
    case "join":
      return foldJoin(living, event, event.bootId, now);
    case "boot":
      return foldBoot(living, event, now);
    case "report":
      return foldReport(living, event.report, now);
    case "heard":
      return foldHeard(living, event.at);
    case "orders_sent":
      return foldOrdersSent(living, now);
    case "behavior":
      return foldBehavior(living, event.behavior, event.by, now);
    case "kill":
      return foldKill(living, event, now);
    case "refused_host":
      return { ...state, record: noteRefusal(living.record, event.kind, event.reason, now) };
    case "create_answered":
      return foldCreateAnswer(withCall(living, "create", event), event.answer, now);
    case "destroy_answered":
      return foldDestroyAnswer(withCall(living, "destroy", event), event.answer, now);
    case "find_answered":
      return foldFound(withCall(living, "find", event), event.answer, now);
    case "observed_answered":
      return foldObserved(living, event.sent, event.answer, now);
    case "ended_answered":
      return foldEndedAnswer(living, event.sent, now);
    case "worker_answered":
      return foldPoolAnswer(living, event.sent, event.answer, now);
  }
}

function foldEndedAnswer(state: ExistingWorker, sent: Ended, now: Instant): WorkerState {
  const key = placementKey(sent.run, sent.epoch);
  const row = state.placements.get(key);
  if (row?.end?.owed) state.placements.set(key, { ...row, end: { ...row.end, owed: false } }, now);
  return state;
}

/** With the pool's consent the worker stops, unless a run was placed on it in the meantime. */
function foldPoolAnswer(
  state: ExistingWorker,
  sent: WorkerUpsert,
  answer: WorkerUpsertAnswer,
  now: Instant,
): WorkerState {
  const memo = { ...state.memo, poolHas: upsertKey(sent) };
  const audit = confirmed(state.record.audit, sent.audit);
  const record = audit === state.record.audit ? state.record : { ...state.record, audit };
  // A pool that does not know this worker cannot give it a turn, so the worker does not wait for a turn. Nor
  // can it take entries or news: the worker would offer them each minute, for ever. A poke of the pool, which
  // then knows it after all, makes them due again.
  if (answer.kind === "no_such") return { ...state, record: withTurn(record), memo };
  const known: ExistingWorker = { ...state, record, memo };
  if (!sent.wantsStop) return known;
  const { idleMs } = state.record.intent.settings;
  if (!answer.consent) {
    // Note that the pool has already answered this proposal, so that the next proposal is sent.
    const poolHas = upsertKey({ ...sent, wantsStop: false });
    const proposeAt = now + Math.max(idleMs, ASK_AGAIN_MS);
    return { ...known, memo: { ...memo, poolHas, proposeAt, makeRoomAt: null } };
  }
  const isFree = livePlacements(known).length === 0 && (proposalAt(known) ?? now + 1) <= now;
  const why = isToMakeRoom(known) ? MAKES_ROOM : "it was idle, and the pool does not need it";
  return isFree ? shutDown(known, why, now) : known;
}

const MAKES_ROOM = "it makes room for the first run in the queue, which does not fit on it";

/** The shortest time between two proposals to stop. */
const ASK_AGAIN_MS = 10_000;

/** Increases the version if something has changed that the pool can see. */
function withVersion(before: WorkerState, after: WorkerState): WorkerState {
  const { record } = after;
  if (record === null || before.record === null || record === before.record) return after;
  const visible = (one: WorkerRecord) => {
    const { phase, reason, readyAt, protocol, engine, failure, prices, instance } = one;
    const { zone, paid, destroyFailure, clockSkewMs } = one;
    const machine = [instance?.id, instance?.address, zone, paid?.from, paid?.until, destroyFailure];
    // The pool learns the measurements of a provider's machine when the machine is ready, not at enrollment.
    const measured = isSelfHosted(one) ? one.measured : undefined;
    const devices = isSelfHosted(one) || readyAt !== null ? one.devices : undefined;
    const host = [measured, devices, protocol, engine];
    const shown = [phase, behaviorOf(one), reason, readyAt, ...host, failure, prices];
    // A kill of a worker that is ending already changes nothing else that the pool sees.
    const ends = [isSurelyUnmade(one), one.forced, one.audit?.last, clockSkewMs];
    return [...shown, ...machine, ...ends, callWaiting(one), one.doubles];
  };
  const old = visible(before.record);
  if (visible(record).every((value, i) => value === old[i])) return after;
  return { ...after, record: { ...record, version: before.record.version + 1 } };
}
