// How does a worker begin, and what do the provider's answers to create and destroy calls change?
import { CREATE_STRAGGLER_MS, MAX_TEXT_CHARS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { backOffMs } from "../../../shared/time/backoff.ts";
import { iso } from "../../../shared/time/instant.ts";
import { clause } from "../../../shared/words.ts";
import type { Intent } from "../../messages.ts";
import type { CreateAnswer, DestroyAnswer, ProviderFailure } from "../../provider-answers.ts";
import { isInDoubt, isRefusal, saysNoneMade } from "../../refusal.ts";
import {
  type ExistingWorker,
  note,
  type ReadonlyExistingWorker,
  type WorkerRecord,
  type WorkerState,
} from "../state.ts";
import { callWanted } from "./calls.ts";
import { knownOf } from "./machine-facts.ts";
import { shutDown } from "./shutdown.ts";

/**
 * Creates the worker: its intent is stored before any call to create a machine (invariant 3). A late or
 * duplicate message creates nothing: a gone worker stays gone.
 */
export function foldCreate(state: WorkerState, intent: Intent, now: Instant): WorkerState {
  if (state.record !== null) return state;
  if (intent.kind === "cloud" && intent.adopt !== undefined) return adopt(state, intent, intent.adopt, now);
  if (now >= intent.notAfter) {
    const reason = "the order to create it came too late";
    const late = { ...newRecord(intent, reason, now), phase: "gone" as const, goneAt: now };
    return { ...state, record: note(late, "Asked", reason, now) };
  }
  if (intent.kind === "self-hosted") {
    const until = iso(intent.notAfter);
    const reason = `waits for a machine to enroll with its code, until ${until}`;
    const text = "a self-hosted machine may join";
    return { ...state, record: note(newRecord(intent, reason, now), "Invited", text, now) };
  }
  const text = `a machine of type ${intent.instanceType} is wanted`;
  return { ...state, record: note(newRecord(intent, "being created", now), "Asked", text, now) };
}

/**
 * Adopts a machine that a listing shows under this worker's name, although no worker owned it. Its host may
 * still have a lease, so the machine is not destroyed before that lease is certainly over
 * (decisions/pool.md#adoption).
 */
function adopt(state: WorkerState, intent: Intent, instance: Machine, now: Instant): WorkerState {
  const reason =
    "a listing shows this machine, which no worker owned: it is destroyed once no lease can be left";
  const record: WorkerRecord = {
    ...newRecord(intent, reason, now),
    phase: "unknown",
    instance,
    createdAt: now,
    calledAt: now,
    leaseUntil: now + intent.settings.leaseMs,
  };
  return { ...state, record: note(record, "Adopted", reason, now) };
}

type Machine = NonNullable<WorkerRecord["instance"]>;

function newRecord(intent: Intent, reason: string, now: Instant): WorkerRecord {
  return {
    intent,
    version: 1,
    phase: "booting",
    idleBehavior: "run",
    reason,
    askedAt: now,
    instance: null,
    createdAt: null,
    bootProbe: null,
    readyAt: null,
    bootOutcome: null,
    zone: intent.kind === "cloud" ? intent.zone : null,
    paid: null,
    endsAt: null,
    looks: false,
    destroyFailure: null,
    notice: null,
    stale: {},
    secret: null,
    hostKey: null,
    bootId: null,
    boots: [],
    clonedAt: null,
    measured: null,
    prices: [],
    hostClock: null,
    clockSkewMs: 0,
    calls: {},
    protocol: 0,
    incarnation: 0,
    joins: [],
    joinsForgotten: 0,
    joinedAt: null,
    lastSeq: 0,
    lastReportAt: null,
    leaseUntil: 0,
    overdueSince: null,
    destroyAskedAt: null,
    destroys: null,
    omittedAt: null,
    calledAt: null,
    createNotBefore: null,
    waits: false,
    doubles: [],
    formerDoubles: [],
    failure: null,
    createTries: 0,
    mayBeMade: false,
    calling: false,
    forced: null,
    killedBy: null,
    goneAt: null,
    revision: 0,
    events: [],
  };
}

/**
 * Applies the answer to a create call. The effect of a failure depends on its class
 * (host-protocol.md#provider-errors).
 */
export function foldCreateAnswer(state: ExistingWorker, answer: CreateAnswer, now: Instant): WorkerState {
  if (answer.kind === "created") {
    const { record } = state;
    const { id } = answer.instance;
    const made = { ...knownOf(record, answer.instance, now), createdAt: now, calledAt: now };
    const over = { failure: null, createTries: 0, calling: false };
    // If the worker is already gone when the answer comes, the machine must be destroyed. Since it certainly
    // exists, its end must be observed even if the worker's end was forced before.
    const ends = { phase: "shutdown" as const, goneAt: null, waits: true, forced: null };
    const created = { ...record, ...made, ...over, ...(record.phase === "gone" ? ends : {}) };
    const reason = record.phase === "booting" ? "booting" : record.reason;
    return {
      ...state,
      record: note({ ...created, reason }, "Created", `the provider made instance ${id}`, now),
    };
  }
  if (answer.kind === "pending") return foldPending(state, answer, now);
  const cause = clause(answer.failure.text.slice(0, MAX_TEXT_CHARS));
  const { failure: earlier, mayBeMade } = state.record;
  const doubt = isInDoubt(earlier, mayBeMade) ? { inDoubt: true as const } : {};
  const failure = { ...answer.failure, ...doubt, text: cause, at: now };
  const what = saysNoneMade(failure)
    ? "did not make the machine"
    : "has not confirmed that it made the machine";
  const text = `the provider ${what} (${failure.class}): ${cause}`;
  const record = afterFailedCreate(state, answer.failure);
  const isThere = record.instance !== null || record.secret !== null;
  if (isThere || failure.class === "temporary" || failure.class === "rate_limit") {
    // The machine may exist nevertheless, or may still be made. The call is retried with the same token, at
    // each turn until `notAfter`. If an earlier call made the machine, the machine may already have runs, and
    // this answer says nothing about the machine (invariant 4).
    const calledAt = failure.class === "temporary" ? now + CREATE_STRAGGLER_MS : now;
    const createNotBefore = failure.retryAfterMs === undefined ? null : now + failure.retryAfterMs;
    const tried = { ...record, calledAt: Math.max(record.calledAt ?? 0, calledAt), createNotBefore };
    if (callWanted(tried) === "create") tried.waits = true;
    if (isThere) return { ...state, record: tried };
    // A worker that is ending keeps the reason for its end.
    const reason = record.phase === "booting" ? text : record.reason;
    const failed = { ...tried, failure, createTries: record.createTries + 1, reason };
    // Repeated failures for the same reason count as one event, since only a few events are kept.
    const isKnown = record.failure?.text === failure.text && record.failure.class === failure.class;
    return { ...state, record: isKnown ? failed : note(failed, "Create Failed", text, now) };
  }
  // Despite the refusal, an earlier unanswered call may make the machine: only listings prove that no call
  // made it.
  const calledAt = Math.max(record.calledAt ?? 0, now);
  const ended = shutDown(
    { ...state, record: note({ ...record, failure, waits: true }, "Create Failed", text, now) },
    text,
    now,
  );
  // No call is in flight: there is only one call at a time (rule R7).
  return ended.record === null ? ended : { ...ended, record: { ...ended.record, calledAt } };
}

/**
 * Applies the answer that the provider works on the call. That is no failure: the call is repeated after the
 * pause, with the same token, and holds back nothing else (clouds.md#pending).
 */
function foldPending(state: ExistingWorker, { retryAfterMs, text }: Pending, now: Instant): WorkerState {
  const { record } = state;
  // An earlier call without an answer may still take effect, as may one of a process that has died.
  const calledAt = Math.max(record.calledAt ?? 0, now);
  const pending = { mayBeMade: true, calling: false, calledAt, createNotBefore: now + retryAfterMs };
  const next = { ...record, ...pending, failure: null };
  if (callWanted(next) === "create") next.waits = true;
  const reason = record.phase === "booting" ? `being created: ${clause(text)}` : record.reason;
  return { ...state, record: { ...next, reason: reason.slice(0, MAX_TEXT_CHARS) } };
}

type Pending = Extract<CreateAnswer, { kind: "pending" }>;

/** Notes after a failed create call whether this call or an earlier call may have made a machine. */
function afterFailedCreate({ record }: ReadonlyExistingWorker, { refused }: ProviderFailure): WorkerRecord {
  const isThere = record.instance !== null || record.secret !== null;
  const mayBeMade = record.mayBeMade || (!isThere && refused !== true);
  return { ...record, calling: false, mayBeMade };
}

/**
 * Applies the answer to a destroy call. Only a listing proves the machine's end (invariant 3), so the call is
 * repeated as long as the machine is listed.
 */
export function foldDestroyAnswer(state: ExistingWorker, answer: DestroyAnswer, now: Instant): WorkerState {
  // A pause that the provider asks for counts as part of this call, so the next call comes after the pause.
  const { tries = 0, since = now } = state.record.destroys ?? {};
  const pauseMs = answer.kind === "failed" ? pauseAfter(answer.failure, tries + 1) : 0;
  const destroys = { tries: tries + 1, since };
  const record = { ...state.record, calledAt: now, destroyAskedAt: now + pauseMs, destroys };
  if (answer.kind === "asked") return { ...state, record: { ...record, destroyFailure: null } };
  const what = isRefusal(answer.failure) ? "did not take" : "has not confirmed";
  const text = `the provider ${what} the destroy (${answer.failure.class}): ${clause(answer.failure.text)}`;
  const failed = { ...record, destroyFailure: text };
  const isKnown = state.record.destroyFailure === text;
  return { ...state, record: isKnown ? failed : note(failed, "Destroy Failed", text, now) };
}

/** The pauses between destroy calls while the provider refuses the credentials: only a person can help. */
const REFUSED_PAUSES = { firstMs: 60_000, longestMs: 15 * 60_000 };

/** How long a destroy call waits after this many failures in a row, besides the usual interval. */
function pauseAfter({ class: cause, retryAfterMs }: ProviderFailure, failures: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs;
  return cause === "auth" ? backOffMs(REFUSED_PAUSES, failures) : 0;
}
