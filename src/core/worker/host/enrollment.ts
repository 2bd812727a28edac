// Which starts of a host does a worker accept: enrollments, joins, reboots, clones?
import type { Resources } from "../../../schema/common.ts";
import type { Instant } from "../../../shared/machine.ts";
import { endPlacements } from "../placements.ts";
import {
  type ExistingWorker,
  isSelfHosted,
  type JoinNote,
  livePlacements,
  note,
  type ReadonlyExistingWorker,
  type WorkerRecord,
  type WorkerState,
} from "../state.ts";

/** How many earlier boots of a machine are remembered. A host that starts in an earlier boot is a clone. */
export const MAX_REMEMBERED_BOOTS = 20;
/**
 * How many starts of an agent are remembered. The late join of a remembered start does not end a later start.
 */
export const MAX_REMEMBERED_JOINS = 20;

/** The first call of a host: its secret, the boot of its machine, and its resources. */
export interface Enrollment {
  secret: string;
  /** Its public key; absent: it takes no secrets (secrets.md#host-keys). */
  hostKey?: string;
  bootId: string;
  /**
   * As measured by the host. All count for a self-hosted machine, but only memory for any other
   * (`measuredMemory`).
   */
  resources?: Resources;
}

/**
 * Enrollment binds the host's secret to the worker. A repetition in the same boot changes nothing. A
 * repetition in another boot counts as a restart, like a join.
 */
export function foldEnroll(state: ExistingWorker, enrollment: Enrollment, now: Instant): WorkerState {
  const { record } = state;
  const { secret, bootId, hostKey = null } = enrollment;
  if (record.phase === "gone" || (record.secret !== null && record.secret !== secret)) return state;
  if (isLateEnrollment(state, enrollment)) return state;
  if (record.secret !== null) return bootId === record.bootId ? state : restart(state, bootId, now);
  const joined = {
    ...record,
    ...measured(record, enrollment),
    secret,
    hostKey,
    bootId,
    incarnation: 1,
    joinedAt: now,
  };
  return { ...state, record: note(joined, "Enrolled", "the host has joined", now) };
}

/**
 * Whether this call comes late from an earlier boot: after a host has joined or reported, it no longer
 * enrolls. If the call counted as a restart, it would end the runs of the present boot.
 */
export function isLateEnrollment(
  { record, memo }: ReadonlyExistingWorker,
  { secret, bootId }: Pick<Enrollment, "secret" | "bootId">,
): boolean {
  const hasBegun = memo.lastSeq > 0 || record.joins.length > 0;
  return hasBegun && record.secret === secret && record.bootId !== bootId;
}

/** The host's measurements, in whole vCPUs. */
function measured(record: WorkerRecord, { resources }: Enrollment): Partial<WorkerRecord> {
  if (resources === undefined) return {};
  const whole = { ...resources, vcpus: Math.floor(resources.vcpus) };
  if (!isSelfHosted(record)) return { measured: whole };
  return { measured: whole, reason: "its host has enrolled, and is about to report" };
}

/**
 * Folds in a join: a new start of the agent gets a new incarnation. All calls of one start count as one join.
 * A call that may belong to an earlier start is ignored.
 */
export function foldJoin(
  state: ExistingWorker,
  { id, signedAt }: JoinNote,
  bootId: string,
  now: Instant,
): WorkerState {
  const { record } = state;
  if (record.secret === null || record.phase === "gone" || hasJoined(record, id)) return state;
  if (isLateJoin(record, { id, signedAt })) return state;
  const next = restart(state, bootId, now);
  if (next.record === null || next.record.incarnation === record.incarnation) return next;
  const joins = [...record.joins, { id, signedAt }];
  const forgotten = joins.length > MAX_REMEMBERED_JOINS ? joins.shift() : undefined;
  if (forgotten === undefined) return { ...next, record: { ...next.record, joins } };
  const joinsForgotten = Math.max(forgotten.signedAt, record.joinsForgotten);
  return { ...next, record: { ...next.record, joins, joinsForgotten } };
}

function hasJoined({ joins }: WorkerRecord, id: string): boolean {
  return joins.some((one) => one.id === id);
}

/** Whether this start of the agent joined but was superseded by a later start. */
export function isSupersededJoin(record: WorkerRecord, id: string): boolean {
  return hasJoined(record, id) && record.joins.at(-1)?.id !== id;
}

/**
 * Whether a start that has not joined may be older than the present start: its join was signed before the
 * latest join, or not after the latest forgotten join. Such a start must not end the present start. If the
 * latest join claims to be signed after its own arrival, the time of its arrival counts, so that a fast clock
 * cannot lock out later starts.
 */
export function isLateJoin(record: WorkerRecord, { id, signedAt }: JoinNote): boolean {
  const { joins, joinedAt, joinsForgotten } = record;
  const latest = Math.min(joins.at(-1)?.signedAt ?? Number.NEGATIVE_INFINITY, joinedAt ?? Infinity);
  return !hasJoined(record, id) && (signedAt < latest || signedAt <= joinsForgotten);
}

/**
 * Whether a host that starts in this boot is one of two clones of a disk (host-protocol.md#clones): a single
 * machine never returns to an earlier boot id. Both clones have the secret, and nothing shows which is the
 * original, so all further starts of both are refused.
 */
export function isClone(record: WorkerRecord, bootId: string): boolean {
  if (record.clonedAt !== null) return true;
  return bootId !== record.bootId && record.boots.includes(bootId);
}

/** Whether a join is refused because of clones. A further call of an accepted start is never refused. */
export function isRefusedClone(record: WorkerRecord, id: string, bootId: string): boolean {
  return !hasJoined(record, id) && isClone(record, bootId);
}

/** Begins a new incarnation. A new boot also ends all placements that the host may have had (rule R2). */
function restart(state: ExistingWorker, bootId: string, now: Instant): WorkerState {
  const { record, memo } = state;
  if (isClone(record, bootId)) return { ...state, record: markCloned(record, now) };
  const rebooted = record.bootId !== bootId;
  const held = livePlacements(state).filter(({ undelivered }) => undelivered !== true);
  if (rebooted) endPlacements(state, held, "lost", true, now);
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

function bootsAfter({ boots, bootId }: WorkerRecord): string[] {
  return [...boots, ...(bootId === null ? [] : [bootId])].slice(-MAX_REMEMBERED_BOOTS);
}

/**
 * Makes the worker drain: its present runs go on, and it gets no new runs. If an operator sets `run`, the
 * next start of a clone sets `drain` again.
 */
function markCloned(record: WorkerRecord, now: Instant): WorkerRecord {
  const drains = record.idleBehavior === "run";
  if (record.clonedAt !== null && !drains) return record;
  const reason = "cloned: two machines with the same secret alternate as its host";
  const known = { ...record, clonedAt: record.clonedAt ?? now, reason };
  return note(drains ? { ...known, idleBehavior: "drain" } : known, "Cloned", reason, now);
}
