import type { Instant } from "../machine.ts";
import type { CreateAnswer, CreateWorker, DestroyAnswer } from "../messages.ts";
import { goneNow, shutDown } from "./life.ts";
import { loseAll } from "./placements.ts";
import { type Living, note, type WorkerRecord, type WorkerState } from "./state.ts";

/**
 * The intent is stored before anything is created (invariant 3). One that comes too late, or twice, creates nothing: a
 * worker that is over stays over.
 */
export function foldCreate(state: WorkerState, intent: CreateWorker, now: Instant): WorkerState {
  if (state.record !== null) return state;
  const late = now >= intent.notAfter;
  const record: WorkerRecord = {
    intent,
    version: 1,
    phase: late ? "gone" : "booting",
    idleBehavior: "run",
    reason: late ? "the order to create it came too late" : "being created",
    askedAt: now,
    instance: null,
    createdAt: null,
    bootProbe: null,
    readyAt: null,
    secret: null,
    bootId: null,
    incarnation: 0,
    joinedAt: null,
    lastSeq: 0,
    lastReportAt: null,
    leaseUntil: 0,
    omittedAt: null,
    calledAt: null,
    killedBy: null,
    goneAt: late ? now : null,
    revision: 0,
    events: [],
  };
  return {
    ...state,
    record: note(record, "Asked", `a machine of type ${intent.instanceType} is wanted`, now),
  };
}

/** The provider's answer to a create call, by class (`host-protocol.md`, errors are classified). */
export function foldCreateAnswer(state: Living, answer: CreateAnswer, now: Instant): WorkerState {
  const { record, memo } = state;
  if (answer.kind === "created") {
    const { id, address } = answer.instance;
    const created = { ...record, instance: { id, address }, createdAt: now, calledAt: now };
    const reason = record.phase === "booting" ? "booting" : record.reason;
    return {
      ...state,
      record: note({ ...created, reason }, "Created", `the provider made instance ${id}`, now),
    };
  }
  const { failure } = answer;
  const text = `the provider did not make the machine (${failure.class}): ${failure.text}`;
  const called = { ...record, calledAt: now };
  if (failure.class === "temporary" || failure.class === "rate_limit") {
    // It may have been made all the same. The same token is tried again until `notAfter`.
    const sure = memo.createSure && failure.class === "rate_limit";
    return { ...state, record: { ...called, reason: text }, memo: { ...memo, createSure: sure } };
  }
  const refused: Living = { ...state, record: note(called, "Create Failed", text, now) };
  if (record.phase !== "booting") return refused;
  return memo.createSure ? goneNow(refused, text, now) : shutDown(refused, text, now);
}

/** Whatever the answer to a destroy is, only an observation is proof (invariant 3). It is asked again until then. */
export function foldDestroyAnswer(state: Living, answer: DestroyAnswer, now: Instant): WorkerState {
  const record = { ...state.record, calledAt: now };
  const memo = { ...state.memo, destroyAskedAt: now };
  if (answer.kind === "asked") return { ...state, record, memo };
  const text = `the provider did not take the destroy (${answer.failure.class}): ${answer.failure.text}`;
  return { ...state, record: note(record, "Destroy Failed", text, now), memo };
}

/** The host's first word: from now on its secret is what it is known by. The same secret finds the same answer. */
export function foldEnroll(state: Living, secret: string, bootId: string, now: Instant): WorkerState {
  const { record } = state;
  if (record.secret !== null || record.phase === "gone") return state;
  const joined = { ...record, secret, bootId, incarnation: 1, joinedAt: now };
  return { ...state, record: note(joined, "Enrolled", "the host has joined", now) };
}

/** Another start of the agent: a new incarnation. A new boot has ended whatever the host may have held (rule R2). */
export function foldJoin(state: Living, bootId: string, now: Instant): WorkerState {
  const { record, memo } = state;
  if (record.secret === null) return state;
  const rebooted = record.bootId !== bootId;
  if (rebooted) loseAll(state, "held", now);
  const text = rebooted ? "the machine was rebooted" : "the agent was started again";
  const joined = { ...record, bootId, incarnation: record.incarnation + 1, joinedAt: now, lastSeq: 0 };
  return { ...state, record: note(joined, "Joined", text, now), memo: { ...memo, lastSeq: 0, reported: {} } };
}
