import type { SignalName } from "../../../schema/run/run.ts";
import { DroverError } from "../../../shared/errors.ts";
import { MAX_SIGNALS_KEPT } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { GroupTask } from "../../spec.ts";
import { addEvent } from "../read/events.ts";
import { type AllocationRecord, type Existing, openPlacement, type SentSignal } from "../state.ts";
import { allButPoststopDead } from "../tasks/lifecycle.ts";
import { type GroupView, groupView, isOver, type Member, mayBeOrdered, withTask } from "../tasks/tasks.ts";
import { killable } from "./hurry.ts";

/** Which tasks somebody wants started again: one, all that run, or all, those that have ended too. */
export interface RestartWish {
  task?: string | undefined;
  all?: boolean | undefined;
  by: string;
}

/** Which tasks get a signal: one, or all that run. */
export interface SignalWish {
  task?: string | undefined;
  signal: SignalName;
  by: string;
}

/**
 * The tasks whose process runs, and is not about to be stopped (tasks.md#by-hand). A poststop
 * task only if it is named.
 */
function running({ members }: GroupView, only: string | undefined): Member[] {
  return members.filter(({ task, state, isStopping, known }) => {
    const isMeant = only === undefined ? task.hook !== "poststop" : task.name === only;
    return isMeant && state === "running" && !isStopping && known.stopFrom === undefined;
  });
}

/** The same, without those whose process has ended: of them only the outputs are still on their way. */
function withProcess(view: GroupView, only: string | undefined): Member[] {
  return running(view, only).filter(({ attempt }) => attempt?.state !== "uploading");
}

/**
 * Why a restart or a signal is not taken: `terminal`, `unknown_task`, or `not_running`; null if it is.
 */
export function refusalOfWish(
  { record, ...state }: Existing,
  { task, all, signal }: { task?: string | undefined; all?: boolean | undefined; signal?: SignalName },
): DroverError | null {
  if (record.ended || record.outcome !== null || (record.wish !== null && signal === undefined))
    return new DroverError("terminal", "the run has ended, or is being stopped");
  const view = groupView(record);
  const { tasks } = view.group;
  if (task !== undefined && !tasks.some(({ name }) => name === task)) {
    const names = tasks.map(({ name }) => name).join(", ");
    return new DroverError("unknown_task", `the run has no task called "${task}"; it has ${names}`);
  }
  const isPlaced = openPlacement({ ...state, record }) !== null;
  const of = signal === undefined ? running : withProcess;
  if (isPlaced && of(view, task).length > 0) return null;
  if (isPlaced && signal === "SIGKILL" && killable(record, task).length > 0) return null;
  if (record.wish !== null) {
    const text = "the run is being stopped: an abort with `force`, or SIGKILL to what lives, hurries that";
    return new DroverError("terminal", text);
  }
  if (isPlaced && all === true && mayBeginAnew(view)) return null;
  const what = task === undefined ? "no task of the run is running" : `task "${task}" is not running`;
  return new DroverError("not_running", what);
}

/**
 * Somebody wants tasks started again: those that run are stopped first, and the policy does not count it
 * (restart.md#row-2, tasks.md#restart-by-hand). For all, the stages begin anew, and what has ended runs once
 * more. The group's shutdown delay comes first unless it is one task; the tasks' own are not waited for.
 */
export function foldRestart(
  record: AllocationRecord,
  { task: only, all, by }: RestartWish,
  now: Instant,
): AllocationRecord {
  const view = groupView(record);
  const { shutdownDelayMs } = view.group;
  const restartAt = only === undefined && shutdownDelayMs > 0 ? now + shutdownDelayMs : undefined;
  const anew = all === true && only === undefined && mayBeginAnew(view);
  const unseen = anew ? view.members.filter((one) => isUnseen(view, one, now)) : [];
  let next = record;
  for (const { task, n, known } of [...running(view, only), ...unseen]) {
    if (known.restartOf !== n)
      next = restartSignaled(withTask(next, task, { restartOf: n, restartAt }), task, by, now);
  }
  return anew ? again(next, by, now) : next;
}

/** Whether a task has not been seen to run, and yet may be with its host by now: what is told is told. */
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
 * Once all but the poststop tasks are dead the group is over: its runners are gone (tasks.md#life). A host
 * that ends starts nothing more.
 */
function mayBeginAnew({ record, members, hostStop }: GroupView): boolean {
  return record.kill === undefined && hostStop === undefined && !allButPoststopDead(members);
}

/** Every task begins anew, in the order of the stages; what is stopped for that, when it has ended. */
function again(record: AllocationRecord, by: string, now: Instant): AllocationRecord {
  const { members } = groupView(record);
  let next: AllocationRecord = record;
  for (const { task, state, n, known, isStopping } of members) {
    const { dead, restartOf, startAt, restarts = 0 } = known;
    if (task.hook === "poststop" || isStopping) continue;
    if (dead === undefined) {
      if (state === "running" || restartOf === n) next = withTask(next, task, { round: n + 1 });
      else if (startAt !== undefined) next = withTask(next, task, { round: n, startAt: undefined });
      continue;
    }
    next = withTask(restartSignaled(next, task, by, now), task, {
      dead: undefined,
      losses: undefined,
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

/** Signals are numbered, so that each reaches its attempt once (host-protocol.md#orders). */
export function foldSignal(
  record: AllocationRecord,
  { task: only, signal, by }: SignalWish,
  now: Instant,
): AllocationRecord {
  const atOnce = signal === "SIGKILL" ? killable(record, only) : [];
  let next = record;
  for (const { task, n } of atOnce) {
    const details = { task_signal: signal, task_signal_reason: `${by} asked for it` };
    const text = `${by} wants it killed at once`;
    next = addEvent(withTask(next, task, { killNow: n }), "Signaling", now, text, {
      task: task.name,
      details,
    });
  }
  for (const { task, attempt } of withProcess(groupView(record), only).filter(
    (one) => !atOnce.includes(one),
  )) {
    if (attempt === undefined) continue;
    const n = (next.signaled ?? 0) + 1;
    const signals = [...signalsDue(next), { id: attempt.id, signal, n }].slice(-MAX_SIGNALS_KEPT);
    next = { ...next, signaled: n, signals };
    const details = { task_signal: signal, task_signal_reason: `${by} asked for it` };
    next = addEvent(next, "Signaling", now, `${by} sends it ${signal}`, { task: task.name, details });
  }
  return next;
}

/** The signals of attempts that live: a signal leaves the orders when its attempt does. */
export function signalsDue({ signals = [], tasks }: AllocationRecord): SentSignal[] {
  const attempts = tasks.flatMap((task) => task.attempts);
  return signals.filter(({ id }) => attempts.some((one) => one.id === id && !isOver(one)));
}
