// What is each task of a run doing, and what must it do? All rules of a group read the same view of the
// record, which is computed once for each record.
import type { HostStop } from "../../../schema/host.ts";
import { type AttemptParts, parseAttemptId } from "../../../shared/attempt-id.ts";
import { keepsTime } from "../../../shared/compat.ts";
import { START_REPORT_DELAY_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { type Group, type GroupTask, groupOf } from "../../spec.ts";
import { specInEffect } from "../retry/needs.ts";
import { type AllocationRecord, type AttemptRecord, newTask, type TaskRecord } from "../state.ts";

/** A task as the rules of its group see it. */
export interface TaskView {
  task: GroupTask;
  state: "pending" | "running" | "dead";
  /** Whether an attempt of the present round has started. A task that ends at once is seldom seen running. */
  started: boolean;
  /** Its restart delay is longer than a host needs to report a running task. */
  delayed?: boolean;
  /** It is being stopped, and will start again. */
  restarting?: boolean;
  /** Whether a dead task has failed, and since when it is dead. */
  failed: boolean;
  deadAt: Instant;
}

/** What a task is doing in the open epoch, or how it ended in the last epoch (tasks.md#task-states). */
export type TaskPhase =
  /** Not reported yet. */
  | { kind: "waiting" }
  /** Its attempt has ended, and the next attempt starts at `startAt`; undefined: now. */
  | { kind: "backoff"; startAt: Instant | undefined }
  | { kind: "preparing" | "running" | "stopping" | "uploading"; attempt: AttemptRecord }
  /** Its attempt has ended. The same step decides what follows. */
  | { kind: "over"; attempt: AttemptRecord }
  | { kind: "dead"; at: Instant; failed: boolean };

/** A task of the group with everything that the rules need. */
export interface Member extends TaskView {
  phase: TaskPhase;
  known: TaskRecord;
  /** The number of its present attempt. */
  n: number;
  /** The present attempt and the previous attempt, if they have been reported. */
  attempt: AttemptRecord | undefined;
  before: AttemptRecord | undefined;
  /** It is to stop, or must not start again. */
  isStopping: boolean;
  /** Its present attempt is to be killed without a grace period. */
  isKilledNow: boolean;
}

/** The group of a run in its open epoch. If the run has ended: in its last epoch. */
export interface GroupView {
  record: AllocationRecord;
  group: Group;
  members: Member[];
  /** Why the host stopped tasks without an order; undefined if it did not. */
  hostStop: HostStop | undefined;
}

/** The view of each record, cached: records never change, and every decision reads the view. */
const byRecord = new WeakMap<AllocationRecord, GroupView>();

/** The group of a run as its rules see it. */
export function groupView(record: AllocationRecord): GroupView {
  const view = byRecord.get(record) ?? viewOf(record);
  byRecord.set(record, view);
  return view;
}

function viewOf(record: AllocationRecord): GroupView {
  const group = groupOfRun(record);
  const hostStop = hostStopOf(record);
  const members = group.tasks.map((task) => memberFrom(record, task, hostStop !== undefined));
  return { record, group, members, hostStop };
}

function memberFrom(record: AllocationRecord, task: GroupTask, isHostEnding: boolean): Member {
  const known = record.tasks.find(({ name }) => name === task.name) ?? newTask(task.name);
  const { n } = known;
  const epoch = epochOf(record);
  const attempt = attemptOf(record, known, epoch);
  const phase = taskPhase(record, known, attempt);
  const dead = phase.kind === "dead" ? phase : undefined;
  return {
    task,
    known,
    n,
    attempt,
    before: attemptOf(record, known, epoch, n - 1),
    phase,
    state: taskState(phase),
    started: hasStarted(known, epoch),
    failed: dead?.failed === true,
    deadAt: dead?.at ?? 0,
    restarting: dead === undefined && known.restartOf === n,
    delayed: dead === undefined && isDelayed(known),
    isStopping: isHostEnding || isToStop(record, task, known),
    isKilledNow: record.forced !== undefined || known.killNow === n,
  };
}

/** The open epoch. If the run has ended: its last epoch, which stays open while its machine is kept. */
export function epochOf({ ended, endedEpoch, hold }: AllocationRecord): number {
  return ended && hold === undefined ? endedEpoch : endedEpoch + 1;
}

function taskPhase(
  record: AllocationRecord,
  { dead, attempts, n, startAt, delayOver, stopFrom, restartOf }: TaskRecord,
  attempt: AttemptRecord | undefined,
): TaskPhase {
  if (dead !== undefined)
    return { kind: "dead", at: dead.at, failed: dead.how === "failed" || dead.how === "lost" };
  // A task that never ran, or that was lost, counts as ended when its run ended (tasks.md#never-ran).
  if (record.ended)
    return { kind: "dead", at: record.outcome?.at ?? 0, failed: record.outcome?.state === "failed" };
  if (attempt === undefined) {
    const again = attempts.at(-1)?.epoch === epochOf(record);
    const until = delayOver === n ? undefined : startAt;
    return again ? { kind: "backoff", startAt: until } : { kind: "waiting" };
  }
  if (isOver(attempt)) return { kind: "over", attempt };
  if (attempt.startedAt === null) return { kind: "preparing", attempt };
  const isAsked = stopFrom !== undefined || restartOf !== undefined || record.stopRequest !== null;
  if (isAsked || attempt.state === "stopping") return { kind: "stopping", attempt };
  return { kind: attempt.state === "uploading" ? "uploading" : "running", attempt };
}

/** The state of a task for rules and readers (tasks.md#task-states). */
function taskState({ kind }: TaskPhase): TaskView["state"] {
  switch (kind) {
    case "waiting":
    case "backoff":
    case "preparing":
    case "over":
      return "pending";
    case "running":
    case "stopping":
    case "uploading":
      return "running";
    case "dead":
      return "dead";
  }
}

/** The id of the n-th attempt of a task in an epoch (decisions/tasks.md#attempt-ids). */
export function attemptId(run: string, task: string, epoch: number, n: number): string {
  return `${run}/${task}/${epoch}.${n}`;
}

/** Whether an attempt was ever ordered: its number is at most that of the task's present attempt. */
export function wasOrdered({ tasks }: AllocationRecord, { task, n }: AttemptParts): boolean {
  const known = tasks.find(({ name }) => name === task);
  return known !== undefined && n <= known.n;
}

/** Whether nothing of an attempt is left on its host. */
export function isOver(attempt: AttemptRecord): boolean {
  return attempt.state === "exited" || attempt.state === "gone";
}

/** The group of the present spec and the tasks that an update removed. A removed task is no leader. */
function groupOfRun(record: AllocationRecord): Group {
  const group = groupOf(specInEffect(record));
  const removed = record.tasks.flatMap((task) => {
    return task.removed === undefined ? [] : { ...task.removed, leader: false };
  });
  return removed.length === 0 ? group : { ...group, lone: false, tasks: [...group.tasks, ...removed] };
}

/** The attempt with number `n` in an epoch, if reported. By default, `n` is that of the present attempt. */
export function attemptOf(
  record: AllocationRecord,
  task: TaskRecord,
  epoch: number,
  n = task.n,
): AttemptRecord | undefined {
  const id = attemptId(record.id, task.name, epoch, n);
  return task.attempts.findLast((one) => one.id === id);
}

/** Whether the delay before the next start is longer than a host needs to report a running task. */
function isDelayed({ attempts, startAt }: TaskRecord): boolean {
  const endedAt = attempts.at(-1)?.finishedAt ?? null;
  return startAt !== undefined && endedAt !== null && startAt - endedAt > START_REPORT_DELAY_MS;
}

/** Whether any attempt of the present round has run. A restart of all tasks begins a new round. */
function hasStarted({ attempts, round }: TaskRecord, epoch: number): boolean {
  return attempts.some((one) => {
    const n = parseAttemptId(one.id)?.n ?? 0;
    return one.epoch === epoch && n >= round && one.startedAt !== null;
  });
}

/**
 * Why the host of the open epoch stopped tasks without an order; undefined if it did not. Such a host stops
 * all tasks, and starts no other task, not even a poststop task.
 */
function hostStopOf(record: AllocationRecord): HostStop | undefined {
  return record.tasks.flatMap(({ attempts }) => stopsByHost(attempts, epochOf(record)))[0];
}

function stopsByHost(attempts: AttemptRecord[], epoch: number): HostStop[] {
  return attempts.flatMap((one) => (one.epoch === epoch && one.stopped !== undefined ? [one.stopped] : []));
}

/** Whether the control plane wants a task stopped. Poststop tasks outlive an ordinary request to stop. */
function isToStop(record: AllocationRecord, { hook }: GroupTask, { removed, killNow }: TaskRecord): boolean {
  const { stopRequest, kill, forced, poststopOver } = record;
  if (removed !== undefined || forced !== undefined) return true;
  if (hook !== "poststop") return stopRequest !== null || kill !== undefined;
  return (
    stopRequest?.state === "timedout" ||
    poststopOver !== undefined ||
    (stopRequest !== null && killNow !== undefined)
  );
}

/**
 * Whether the host gets the order for the present attempt before the attempt may start, because the host can
 * wait until the start time. Only an order to stop replaces that order, since the attempt may have started
 * already.
 */
export function isWithHost({ startAt, attempts }: TaskRecord): boolean {
  const last = attempts.at(-1);
  return last !== undefined && keepsTime(last.protocol) && startAt !== undefined;
}

/** Whether the host ended a task without an order or at the time limit. Poststop tasks do not count. */
export function isCutByHost({ record }: GroupView, { task, known: { attempts } }: Member): boolean {
  if (task.hook === "poststop") return false;
  const epoch = epochOf(record);
  const isTimeOver = record.stopRequest?.state === "timedout";
  const timedOut = isTimeOver && attempts.some((one) => one.epoch === epoch && one.timedOut);
  return timedOut || stopsByHost(attempts, epoch).length > 0;
}
