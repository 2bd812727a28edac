import type { Resources } from "../../../schema/common.ts";
import { MAX_REMEMBERED_BOOTS, MAX_REMEMBERED_JOINS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { loseAll } from "../placements.ts";
import {
  isSelfHosted,
  type JoinNote,
  type Living,
  note,
  type ReadonlyLiving,
  type WorkerRecord,
  type WorkerState,
} from "../state.ts";

/** The host's first word: what it will be known by, in which boot of its machine, and what that has. */
export interface Enrollment {
  secret: string;
  bootId: string;
  /** As measured: all that a self-hosted machine has; of others the memory counts (`measuredMemory`). */
  resources?: Resources;
}

/**
 * From its first word on the host is known by its secret. The same secret in the same boot finds the same
 * answer, however often; in another boot it is another start of the machine, as a join is.
 */
export function foldEnroll(state: Living, enrollment: Enrollment, now: Instant): WorkerState {
  const { record } = state;
  const { secret, bootId } = enrollment;
  if (record.phase === "gone" || (record.secret !== null && record.secret !== secret)) return state;
  if (isLateEnrollment(state, enrollment)) return state;
  if (record.secret !== null) return bootId === record.bootId ? state : restarted(state, bootId, now);
  const joined = {
    ...record,
    ...measured(record, enrollment),
    secret,
    bootId,
    incarnation: 1,
    joinedAt: now,
  };
  return { ...state, record: note(joined, "Enrolled", "the host has joined", now) };
}

/**
 * Whether this is the word of an earlier boot that was on its way for long: a host that has joined or
 * reported knows who it is, and enrolls no more. Taken for a restart it would end what runs in the boot of
 * now.
 */
export function isLateEnrollment(
  { record, memo }: ReadonlyLiving,
  { secret, bootId }: Pick<Enrollment, "secret" | "bootId">,
): boolean {
  const hasBegun = memo.lastSeq > 0 || record.joins.length > 0;
  return hasBegun && record.secret === secret && record.bootId !== bootId;
}

/** What its host has measured, in whole numbers: of a self-hosted machine nothing was known before. */
function measured(record: WorkerRecord, { resources }: Enrollment): Partial<WorkerRecord> {
  if (resources === undefined) return {};
  const whole = { ...resources, vcpus: Math.floor(resources.vcpus) };
  if (!isSelfHosted(record)) return { measured: whole };
  return { measured: whole, reason: "its host has enrolled, and is about to report" };
}

/**
 * Another start of the agent: a new incarnation. All calls of one start, however often and late they arrive,
 * are one join, and a call that may be of an earlier start is none.
 */
export function foldJoin(
  state: Living,
  { id, signedAt }: JoinNote,
  bootId: string,
  now: Instant,
): WorkerState {
  const { record } = state;
  if (record.secret === null || record.phase === "gone" || hasJoined(record, id)) return state;
  if (isLateJoin(record, { id, signedAt })) return state;
  const next = restarted(state, bootId, now);
  if (next.record === null || next.record.incarnation === record.incarnation) return next;
  const joins = [...record.joins, { id, signedAt }];
  const forgotten = joins.length > MAX_REMEMBERED_JOINS ? joins.shift() : undefined;
  if (forgotten === undefined) return { ...next, record: { ...next.record, joins } };
  const joinsForgotten = Math.max(forgotten.signedAt, record.joinsForgotten ?? forgotten.signedAt);
  return { ...next, record: { ...next.record, joins, joinsForgotten } };
}

function hasJoined({ joins }: WorkerRecord, id: string): boolean {
  return joins.some((one) => one.id === id);
}

/** Whether this start of the agent has joined, and a later one after it: the agent of now is another. */
export function isOutrunJoin(record: WorkerRecord, id: string): boolean {
  return hasJoined(record, id) && record.joins.at(-1)?.id !== id;
}

/**
 * Whether a start that has not joined yet was signed before the latest one that has, or no later than one
 * that is not remembered any more: it may be an earlier start, and must not end the agent of now. The latest
 * counts as signed no later than it came, lest a clock that was ahead keeps out the starts after it.
 */
export function isLateJoin(record: WorkerRecord, { id, signedAt }: JoinNote): boolean {
  const { joins, joinedAt, joinsForgotten = Number.NEGATIVE_INFINITY } = record;
  const latest = Math.min(joins.at(-1)?.signedAt ?? Number.NEGATIVE_INFINITY, joinedAt ?? Infinity);
  return !hasJoined(record, id) && (signedAt < latest || signedAt <= joinsForgotten);
}

/**
 * Whether a host that starts in this boot is one of two clones of one disk (host-protocol.md#clones):
 * boot ids that alternate. A machine never comes back to a boot that another one has followed, so whoever
 * does was there all the time, beside the other. Both hold the one secret, and nobody can tell which is the
 * right one: once there are two, no start of either counts any more.
 */
export function isClone(record: WorkerRecord, bootId: string): boolean {
  if (record.clonedAt !== undefined) return true;
  return bootId !== record.bootId && (record.boots ?? []).includes(bootId);
}

/** Whether a join is refused for that. That of a start that was accepted never is. */
export function isRefusedClone(record: WorkerRecord, id: string, bootId: string): boolean {
  return !hasJoined(record, id) && isClone(record, bootId);
}

/** A new boot has ended whatever the host may have held (rule R2). */
function restarted(state: Living, bootId: string, now: Instant): WorkerState {
  const { record, memo } = state;
  if (isClone(record, bootId)) return { ...state, record: cloned(record, now) };
  const rebooted = record.bootId !== bootId;
  if (rebooted) loseAll(state, "held", now);
  const text = rebooted ? "the machine was rebooted" : "the agent was started again";
  const joined = {
    ...record,
    bootId,
    incarnation: record.incarnation + 1,
    joinedAt: now,
    lastSeq: 0,
    hostClock: null,
  };
  const known = rebooted ? { ...joined, boots: bootsAfter(record) } : joined;
  return {
    ...state,
    record: note(known, "Joined", text, now),
    memo: { ...memo, lastSeq: 0, hostClock: null, reported: {}, whole: false },
  };
}

function bootsAfter({ boots = [], bootId }: WorkerRecord): string[] {
  return [...boots, ...(bootId === null ? [] : [bootId])].slice(-MAX_REMEMBERED_BOOTS);
}

/**
 * The worker drains: what runs on the latest start goes on, and nothing is added. An operator who says `run`
 * is contradicted by the next start.
 */
function cloned(record: WorkerRecord, now: Instant): WorkerRecord {
  const drains = record.idleBehavior === "run";
  if (record.clonedAt !== undefined && !drains) return record;
  const reason = "cloned: two machines start as its host by turns, with one secret";
  const known = { ...record, clonedAt: record.clonedAt ?? now, reason };
  return note(drains ? { ...known, idleBehavior: "drain" } : known, "Cloned", reason, now);
}
