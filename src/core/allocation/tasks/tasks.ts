import type { HostStop } from "../../../schema/host.ts";
import { parseAttemptId } from "../../../shared/attempt-id.ts";
import { START_REPORT_DELAY_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { type Group, type GroupTask, groupOf } from "../../spec.ts";
import type { AllocationRecord, AttemptRecord, Stage, TaskRecord } from "../state.ts";
import { gateIsOpen, reachedStage, type TaskView } from "./lifecycle.ts";

/** The id of the n-th attempt of a task in an epoch (decisions/tasks.md#attempt-ids). */
export function attemptId(run: string, task: string, epoch: number, n: number): string {
  return `${run}/${task}/${epoch}.${n}`;
}

/** Whether nothing of an attempt is left on its host. */
export function isOver(attempt: AttemptRecord): boolean {
  return attempt.state === "exited" || attempt.state === "gone";
}

/** The group of a run, as its spec says it now, and what an update has left out of it: that leads no more. */
export function groupOfRun(record: AllocationRecord): Group {
  const group = groupOf(record.spec);
  const removed = record.tasks.flatMap((task) => {
    return task.removed === undefined ? [] : { ...task.removed, leader: false };
  });
  return removed.length === 0 ? group : { ...group, lone: false, tasks: [...group.tasks, ...removed] };
}

/** What is stored of a task. */
export function recordOf(record: AllocationRecord, { name }: GroupTask): TaskRecord {
  return record.tasks.find((one) => one.name === name) ?? { name, attempts: [] };
}

/** Changes what is stored of a task. */
export function withTask(
  record: AllocationRecord,
  { name }: { name: string },
  change: Partial<TaskRecord>,
): AllocationRecord {
  const tasks = record.tasks.map((one) => (one.name === name ? { ...one, ...change } : one));
  return { ...record, tasks };
}

/** The attempt with this number of this epoch, as far as it has been reported; the present one by default. */
export function attemptOf(
  record: AllocationRecord,
  task: TaskRecord,
  epoch: number,
  n = task.n ?? 1,
): AttemptRecord | undefined {
  const id = attemptId(record.id, task.name, epoch, n);
  return task.attempts.findLast((one) => one.id === id);
}

/** The tasks of the open epoch, as the rules of the group see them (tasks.md#task-states). */
export function viewsOf(record: AllocationRecord, group: Group, epoch: number): TaskView[] {
  return group.tasks.map((task): TaskView => {
    const known = recordOf(record, task);
    const started = hasStarted(known, epoch);
    if (known.dead !== undefined) {
      const { at, how } = known.dead;
      return { task, state: "dead", started, failed: how === "failed" || how === "lost", deadAt: at };
    }
    const attempt = attemptOf(record, known, epoch);
    const runs = attempt !== undefined && attempt.startedAt !== null && !isOver(attempt);
    const waits = {
      ...(isRestarting(known) && { restarting: true }),
      ...(isDelayed(known) && { delayed: true }),
    };
    return { task, state: runs ? "running" : "pending", started, failed: false, deadAt: 0, ...waits };
  });
}

/** Whether the delay before the next start of a task is longer than its host takes to say that it runs. */
function isDelayed({ attempts, startAt }: TaskRecord): boolean {
  const endedAt = attempts.at(-1)?.finishedAt ?? null;
  return startAt !== undefined && endedAt !== null && startAt - endedAt > START_REPORT_DELAY_MS;
}

/** Whether the present attempt of a task is stopped so that the task can be started again. */
function isRestarting({ restartOf, n = 1 }: TaskRecord): boolean {
  return restartOf === n;
}

/** Whether any attempt of the present round has run: a restart of all begins another one. */
function hasStarted({ attempts, round = 1 }: TaskRecord, epoch: number): boolean {
  return attempts.some((one) => {
    const n = parseAttemptId(one.id)?.n ?? 0;
    return one.epoch === epoch && n >= round && one.startedAt !== null;
  });
}

/** Whether the present attempt of a task is to be killed at once, and not stopped as it asks. */
export function isKilledNow(record: AllocationRecord, task: GroupTask): boolean {
  const { killNow, n = 1 } = recordOf(record, task);
  return record.forced !== undefined || killNow === n;
}

/** The stage of the group: in a fresh epoch the one that is reached with nothing started. */
export function stageOf(record: AllocationRecord, views: TaskView[]): Stage {
  const fresh = () =>
    views.map((view): TaskView => ({ ...view, state: "pending", started: false, failed: false }));
  return record.stage ?? reachedStage("prestart", fresh());
}

/**
 * Why the host of the open epoch has stopped tasks by itself; undefined if it has not. It stops all it has
 * and starts nothing more, so whatever has not run yet cannot run there, the poststop tasks too.
 */
export function hostStopOf(record: AllocationRecord, epoch: number): HostStop | undefined {
  return record.tasks.flatMap(({ attempts }) => stopsByHost(attempts, epoch))[0];
}

function stopsByHost(attempts: AttemptRecord[], epoch: number): HostStop[] {
  return attempts.flatMap((one) => (one.epoch === epoch && one.stopped !== undefined ? [one.stopped] : []));
}

/** Whether a task is to be stopped, or not to be started any more: a poststop task only when time is over. */
export function isStopping(record: AllocationRecord, task: GroupTask): boolean {
  const { wish, kill, endedEpoch } = record;
  if (recordOf(record, task).removed !== undefined) return true;
  if (hostStopOf(record, endedEpoch + 1) !== undefined) return true;
  if (record.forced !== undefined) return true;
  if (task.hook === "poststop") {
    const isKilled = wish !== null && recordOf(record, task).killNow !== undefined;
    return wish?.state === "timedout" || record.poststopOver !== undefined || isKilled;
  }
  return wish !== null || kill !== undefined;
}

/**
 * Whether the host has the order for the present attempt of a task since the one before has ended, with when
 * it may start. Then nothing but a stop takes it back: it may have started by the time that is known here.
 */
export function isWithHost({ startAt, hostWaits }: TaskRecord): boolean {
  return hostWaits === true && startAt !== undefined;
}

/**
 * Whether the host itself has ended a task that comes before poststop tasks, or the time of the run did
 * there.
 */
function isCutByHost(record: AllocationRecord, task: GroupTask): boolean {
  if (task.hook === "poststop") return false;
  const epoch = record.endedEpoch + 1;
  const { attempts } = recordOf(record, task);
  const isTimeOver = record.wish?.state === "timedout";
  const timedOut = isTimeOver && attempts.some((one) => one.epoch === epoch && one.timedOut);
  return timedOut || stopsByHost(attempts, epoch).length > 0;
}

/** Whether the present attempt of a task may be with the host by now, told or about to be told. */
export function mayBeOrdered(
  record: AllocationRecord,
  task: GroupTask,
  views: TaskView[],
  now: Instant,
): boolean {
  const known = recordOf(record, task);
  if (isRestarting(known)) return true;
  const { startAt = 0 } = known;
  // A host that has stopped the others starts no poststop task: it was never ordered there.
  if (task.hook === "poststop" && views.some((view) => isCutByHost(record, view.task))) return false;
  return isWithHost(known) || (now >= startAt && gateIsOpen(task, stageOf(record, views), views));
}
