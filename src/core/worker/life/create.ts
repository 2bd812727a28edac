import { CREATE_STRAGGLER_MS, MAX_TEXT_CHARS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import { clause } from "../../../shared/words.ts";
import type { CreateAnswer, DestroyAnswer, Intent, ProviderFailure } from "../../messages.ts";
import { saidNo } from "../../refusal.ts";
import { type Living, note, type ReadonlyLiving, type WorkerRecord, type WorkerState } from "../state.ts";
import { callWanted } from "./calls.ts";
import { shutDown } from "./shutdown.ts";

/**
 * A worker is born: its intent is stored before anything is created (invariant 3). One that comes too late,
 * or twice, creates nothing: a worker that is over stays over.
 */
export function foldCreate(state: WorkerState, intent: Intent, now: Instant): WorkerState {
  if (state.record !== null) return state;
  const born = {
    ...state,
    // The intent is stored with this step, so no process before this one can have called for it.
    memo: { ...state.memo, mayHaveCalled: false },
  };
  if (intent.kind === "cloud" && intent.adopt !== undefined) return adopted(born, intent, intent.adopt, now);
  if (now >= intent.notAfter) {
    const reason = "the order to create it came too late";
    const late = { ...newRecord(intent, reason, now), phase: "gone" as const, goneAt: now };
    return { ...born, record: note(late, "Asked", reason, now) };
  }
  if (intent.kind === "self-hosted") {
    const until = iso(intent.notAfter);
    const reason = `waits for a machine to enroll with its code, until ${until}`;
    const text = "a self-hosted machine may join";
    return { ...born, record: note(newRecord(intent, reason, now), "Invited", text, now) };
  }
  const text = `a machine of type ${intent.instanceType} is wanted`;
  return { ...born, record: note(newRecord(intent, "being created", now), "Asked", text, now) };
}

/**
 * A listing has shown a machine with our name of which nobody knows. Its host may hold a lease that somebody
 * has granted, so it is not destroyed before that would be over (decisions/pool.md#adoption).
 */
function adopted(state: WorkerState, intent: Intent, instance: Machine, now: Instant): WorkerState {
  const reason =
    "a listing shows its machine, and nobody knew of it: it is destroyed when no lease can be left";
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
    secret: null,
    bootId: null,
    incarnation: 0,
    joins: [],
    joinedAt: null,
    lastSeq: 0,
    lastReportAt: null,
    leaseUntil: 0,
    overdueSince: null,
    destroyAskedAt: null,
    omittedAt: null,
    calledAt: null,
    createNotBefore: null,
    killedBy: null,
    goneAt: null,
    revision: 0,
    events: [],
  };
}

/** The provider's answer to a create call, by class (host-protocol.md#provider-errors). */
export function foldCreateAnswer(state: Living, answer: CreateAnswer, now: Instant): WorkerState {
  if (answer.kind === "created") {
    const { record } = state;
    const { id, address } = answer.instance;
    const { failure: _over, createTries: _tries, calling: _called, forced, ...asked } = record;
    const made = { ...asked, instance: { id, address }, createdAt: now, calledAt: now };
    // It may come when everything was over already: then what came to be is to be destroyed.
    const ends = { phase: "shutdown" as const, goneAt: null, waits: true as const };
    const late = record.phase === "gone" ? ends : {};
    // What is seen to exist is waited for, whatever was forced before that.
    const stays = forced === undefined || record.phase === "gone" ? {} : { forced };
    const created = { ...made, ...late, ...stays };
    const reason = record.phase === "booting" ? "booting" : record.reason;
    return {
      ...state,
      record: note({ ...created, reason }, "Created", `the provider made instance ${id}`, now),
    };
  }
  const said = clause(answer.failure.text.slice(0, MAX_TEXT_CHARS));
  const failure = { ...answer.failure, text: said, at: now };
  const isSure = failure.refused === true || saidNo(failure);
  const what = isSure ? "did not make the machine" : "has not confirmed that it made the machine";
  const text = `the provider ${what} (${failure.class}): ${said}`;
  const record = answered(state, answer.failure);
  const isThere = record.instance !== null || record.secret !== null;
  if (isThere || failure.class === "temporary" || failure.class === "rate_limit") {
    // It may have been made all the same, or be made yet. The same token is tried again, until `notAfter`,
    // when the pool says that it is this worker's turn. Of a machine that an earlier call has made, and
    // that may have runs by now, the answer to a later one says nothing (invariant 4).
    const calledAt = failure.class === "temporary" ? now + CREATE_STRAGGLER_MS : now;
    const createNotBefore = failure.retryAfterMs === undefined ? null : now + failure.retryAfterMs;
    const tried = { ...record, calledAt: Math.max(record.calledAt ?? 0, calledAt), createNotBefore };
    if (callWanted(tried) === "create") tried.waits = true;
    if (isThere) return { ...state, record: tried };
    // Once it is to end, why that is stays its reason.
    const reason = record.phase === "booting" ? text : record.reason;
    const failed = { ...tried, failure, createTries: (record.createTries ?? 0) + 1, reason };
    // One that fails again and again for the same reason is one event: there is room for few.
    const isKnown = record.failure?.text === failure.text && record.failure.class === failure.class;
    return { ...state, record: isKnown ? failed : note(failed, "Create Failed", text, now) };
  }
  // Even a plain refusal may follow a call that had no answer: only listings prove that nothing was made.
  const calledAt = Math.max(record.calledAt ?? 0, now);
  const ended = shutDown(
    { ...state, record: note({ ...record, failure, waits: true }, "Create Failed", text, now) },
    text,
    now,
  );
  // If all our calls have had their answers, and there is only one at a time, none is under way (rule R7).
  if (ended.record === null || state.memo.mayHaveCalled) return ended;
  return { ...ended, record: { ...ended.record, calledAt } };
}

/** A create call has failed: whether it, or one before it, may have made the machine all the same. */
function answered({ record, memo }: ReadonlyLiving, { refused }: ProviderFailure): WorkerRecord {
  const { calling: _answered, ...known } = record;
  const isThere = record.instance !== null || record.secret !== null;
  return isThere || (refused === true && !memo.mayHaveCalled) ? known : { ...known, mayBeMade: true };
}

/**
 * Whatever the answer to a destroy is, only an observation is proof (invariant 3). While it is listed, it is
 * asked again.
 */
export function foldDestroyAnswer(state: Living, answer: DestroyAnswer, now: Instant): WorkerState {
  // A provider that wants a pause has been asked as if at its end: nobody asks again before.
  const pauseMs = answer.kind === "failed" ? (answer.failure.retryAfterMs ?? 0) : 0;
  const { tries = 0, since = now } = state.record.destroys ?? {};
  const destroys = { tries: tries + 1, since };
  const record = { ...state.record, calledAt: now, destroyAskedAt: now + pauseMs, destroys };
  if (answer.kind === "asked") return { ...state, record };
  const what = saidNo(answer.failure) ? "did not take" : "has not confirmed";
  const text = `the provider ${what} the destroy (${answer.failure.class}): ${clause(answer.failure.text)}`;
  return { ...state, record: note(record, "Destroy Failed", text, now) };
}
