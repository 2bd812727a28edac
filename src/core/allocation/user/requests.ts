// Which tasks does a restart or a signal by hand reach, and what happens to them?
import type { SignalName } from "../../../schema/run/run.ts";
import { DroverError } from "../../../shared/errors.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { GroupTask } from "../../spec.ts";
import { addEvent } from "../read/events.ts";
import { type AllocationRecord, type Existing, openPlacement, type SentSignal } from "../state.ts";
import { allButPoststopDead } from "../tasks/lifecycle.ts";
import { type GroupView, groupView, isOver, type Member, mayBeOrdered, withTask } from "../tasks/tasks.ts";
import { killable } from "./hurry.ts";

/**
 * The most signals that an order names: the latest. A host soon receives each, so this many wait only while
 * it cannot be reached.
 */
export const MAX_SIGNALS_KEPT = 32;

/** Which tasks to restart: one, all that run, or `all`, including those that have ended. */
export interface TaskRestart {
  task?: string | undefined;
  all?: boolean | undefined;
  by: string;
}

/** Which tasks get a signal: one, or all that run. */
export interface TaskSignal {
  task?: string | undefined;
  signal: SignalName;
  by: string;
}

/** Tasks whose process runs and is not being stopped (tasks.md#by-hand). Poststop tasks only by name. */
function running({ members }: GroupView, only: string | undefined): Member[] {
  return members.filter(({ task, state, isStopping, known }) => {
    const isMeant = only === undefined ? task.hook !== "poststop" : task.name === only;
    return isMeant && state === "running" && !isStopping && known.stopFrom === undefined;
  });
}

/** The same tasks, except those whose process has ended and whose outputs are still being stored. */
function withProcess(view: GroupView, only: string | undefined): Member[] {
  return running(view, only).filter(({ attempt }) => attempt?.state !== "uploading");
}

/**
 * Why a restart or a signal is refused: `terminal`, `unknown_task` or `not_running`; null: it is accepted.
 */
export function whyRefused(
  { record, ...state }: Existing,
  { task, all, signal }: { task?: string | undefined; all?: boolean | undefined; signal?: SignalName },
): DroverError | null {
  if (record.ended || record.outcome !== null || (record.stopRequest !== null && signal === undefined))
    return new DroverError("terminal", "the run has ended, or is being stopped");
  const view = groupView(record);
  const { tasks } = view.group;
  if (task !== undefined && !tasks.some(({ name }) => name === task)) {
    const names = tasks.map(({ name }) => name).join(", ");
    return new DroverError("unknown_task", `the run has no task called "${task}"; it has ${names}`);
  }
  const isPlaced = openPlacement({ ...state, record }) !== null;
  const eligible = signal === undefined ? running : withProcess;
  if (isPlaced && eligible(view, task).length > 0) return null;
  if (isPlaced && signal === "SIGKILL" && killable(record, task).length > 0) return null;
  if (record.stopRequest !== null) {
    const text = "the run is being stopped; to end it sooner, abort it with `force`, or send SIGKILL";
    return new DroverError("terminal", text);
  }
  if (isPlaced && all === true && mayRestartAll(view)) return null;
  const what = task === undefined ? "no task of the run is running" : `task "${task}" is not running`;
  return new DroverError("not_running", what);
}

/**
 * Restarts tasks by hand: running ones are stopped first, and the policy does not count it (restart.md#row-2,
 * tasks.md#restart-by-hand). A restart of all begins the stages again, with the tasks that have ended. The
 * group's shutdown delay applies unless the restart is for one task; the tasks' own delays do not.
 */
export function foldRestart(
  record: AllocationRecord,
  { task: only, all, by }: TaskRestart,
  now: Instant,
): AllocationRecord {
  const view = groupView(record);
  const { shutdownDelayMs } = view.group;
  const restartAt = only === undefined && shutdownDelayMs > 0 ? now + shutdownDelayMs : undefined;
  const restartsAll = all === true && only === undefined && mayRestartAll(view);
  const unseen = restartsAll ? view.members.filter((one) => isUnseen(view, one, now)) : [];
  let next = record;
  for (const { task, n, known } of [...running(view, only), ...unseen]) {
    if (known.restartOf !== n)
      next = restartSignaled(withTask(next, task, { restartOf: n, restartAt }), task, by, now);
  }
  return restartsAll ? restartAll(next, by, now) : next;
}

/** Whether a task was not seen to run, although its host may have the order already. */
function isUnseen(view: GroupView, one: Member, now: Instant): boolean {
  if (one.task.hook === "poststop" || one.isStopping) return false;
  return one.state === "pending" && mayBeOrdered(view, one, now);
}

function restartSignaled(
  record: AllocationRecord,
  { name }: GroupTask,
  by: string,
  now: Instant,
): AllocationRecord {
  const reason = `${by} asked for it`;
  const text = `it is to be started again: ${reason}`;
  return addEvent(record, "Restart Signaled", now, text, { task: name, details: { restart_reason: reason } });
}

/**
 * Whether all tasks can be restarted: not once all but the poststop tasks are dead (tasks.md#life), nor on a
 * host that stops everything.
 */
function mayRestartAll({ record, members, hostStop }: GroupView): boolean {
  return record.kill === undefined && hostStop === undefined && !allButPoststopDead(members);
}

/** Starts every task again in the order of the stages; running ones follow once they have been stopped. */
function restartAll(record: AllocationRecord, by: string, now: Instant): AllocationRecord {
  const { members } = groupView(record);
  let next: AllocationRecord = record;
  for (const { task, state, n, known, isStopping } of members) {
    const { dead, restartOf, startAt, restarts } = known;
    if (task.hook === "poststop" || isStopping) continue;
    if (dead === undefined) {
      if (state === "running" || restartOf === n) next = withTask(next, task, { round: n + 1 });
      else if (startAt !== undefined) next = withTask(next, task, { round: n, startAt: undefined });
      continue;
    }
    next = withTask(restartSignaled(next, task, by, now), task, {
      dead: undefined,
      losses: 0,
      n: n + 1,
      round: n + 1,
      startAt: undefined,
      restarts: restarts + 1,
      lastRestart: now,
    });
    const details = { start_delay: "0", restart_reason: "asked_for" };
    next = addEvent(next, "Restarting", now, "it is started again", { task: task.name, details });
  }
  return next === record && members.every(({ state }) => state !== "running")
    ? record
    : { ...next, stage: "restarting" };
}

/** Sends a signal. Signals are numbered, so that each reaches its attempt once (host-protocol.md#orders). */
export function foldSignal(
  record: AllocationRecord,
  { task: only, signal, by }: TaskSignal,
  now: Instant,
): AllocationRecord {
  const atOnce = signal === "SIGKILL" ? killable(record, only) : [];
  let next = record;
  for (const { task, n } of atOnce) {
    const details = { task_signal: signal, task_signal_reason: `${by} asked for it` };
    const text = `${by} asked to kill it at once`;
    next = addEvent(withTask(next, task, { killNow: n }), "Signaling", now, text, {
      task: task.name,
      details,
    });
  }
  for (const { task, attempt } of withProcess(groupView(record), only).filter(
    (one) => !atOnce.includes(one),
  )) {
    if (attempt === undefined) continue;
    const n = next.signaled + 1;
    const signals = [...signalsDue(next), { id: attempt.id, signal, n }].slice(-MAX_SIGNALS_KEPT);
    next = { ...next, signaled: n, signals };
    const details = { task_signal: signal, task_signal_reason: `${by} asked for it` };
    next = addEvent(next, "Signaling", now, `${by} sends it ${signal}`, { task: task.name, details });
  }
  return next;
}

/** The signals to living attempts: a signal leaves the orders together with its attempt. */
export function signalsDue({ signals, tasks }: AllocationRecord): SentSignal[] {
  const attempts = tasks.flatMap((task) => task.attempts);
  return signals.filter(({ id }) => attempts.some((one) => one.id === id && !isOver(one)));
}
