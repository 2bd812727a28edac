// Which tasks are affected when a user requests a restart or a signal, and what happens to these tasks?
import type { SignalName } from "../../../schema/run/run.ts";
import { DroverError } from "../../../shared/errors.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { GroupTask } from "../../spec.ts";
import type { RunDraft } from "../draft.ts";
import {
  type AllocationRecord,
  type Existing,
  openPlacement,
  type RequestKey,
  type SentSignal,
} from "../state.ts";
import { allButPoststopDead, mayBeOrdered } from "../tasks/group.ts";
import { type GroupView, groupView, isOver, type Member } from "../tasks/tasks.ts";

/**
 * How many signals an order names at most. When there are more, the oldest signal is dropped. A dropped
 * signal is lost only if its host could not be reached while this number of newer signals was sent.
 */
export const MAX_SIGNALS_KEPT = 32;

/** Which tasks to restart: `task`, every running task, or (`all`) also the tasks that have ended. */
export interface TaskRestart {
  task?: string | undefined;
  all?: boolean | undefined;
  by: string;
}

/** Which tasks get a signal: `task`, or every running task. */
export interface TaskSignal {
  task?: string | undefined;
  signal: SignalName;
  by: string;
}

/** A restart or a signal as an event of the run. */
export type TaskRequest = { key?: RequestKey | undefined } & (
  | { type: "restart"; request: TaskRestart }
  | { type: "signal"; request: TaskSignal }
);

/**
 * The tasks that run and are not being stopped (tasks.md#by-hand). Poststop tasks count only if `only` names
 * them.
 */
function running({ members }: GroupView, only: string | undefined): Member[] {
  return members.filter(({ task, state, isStopping, known }) => {
    const isMeant = only === undefined ? task.hook !== "poststop" : task.name === only;
    return isMeant && state === "running" && !isStopping && known.stopFrom === undefined;
  });
}

/** The tasks of `running`, except tasks whose process has ended while their outputs are being stored. */
export function withProcess(view: GroupView, only: string | undefined): Member[] {
  return running(view, only).filter(({ attempt }) => attempt?.state !== "uploading");
}

/**
 * The running tasks that SIGKILL kills at once: tasks that are being stopped. In a run that is to stop, also
 * poststop tasks.
 */
function killable({ record, members }: GroupView, only: string | undefined): Member[] {
  return members.filter(({ task, state, known, ...one }) => {
    const isStopped = one.isStopping || known.stopFrom !== undefined || one.restarting === true;
    const comesLast = task.hook === "poststop" && record.stopRequest !== null;
    return state === "running" && (only === undefined || task.name === only) && (isStopped || comesLast);
  });
}

/** Why a restart or signal is refused: `terminal`, `unknown_task` or `not_running`. Null: it is accepted. */
export function whyRefused(
  state: Existing,
  { task, all, signal }: { task?: string | undefined; all?: boolean | undefined; signal?: SignalName },
): DroverError | null {
  const { record } = state;
  if (record.ended || record.outcome !== null || (record.stopRequest !== null && signal === undefined))
    return new DroverError("terminal", "the run has ended, or is being stopped");
  const view = groupView(record);
  const { tasks } = view.group;
  if (task !== undefined && !tasks.some(({ name }) => name === task)) {
    const names = tasks.map(({ name }) => name).join(", ");
    return new DroverError("unknown_task", `the run has no task called "${task}"; it has ${names}`);
  }
  const isPlaced = openPlacement(state) !== null;
  const eligible = signal === undefined ? running : withProcess;
  if (isPlaced && eligible(view, task).length > 0) return null;
  if (isPlaced && signal === "SIGKILL" && killable(view, task).length > 0) return null;
  if (record.stopRequest !== null) {
    const text = "the run is being stopped; to end it sooner, abort it with `force`, or send SIGKILL";
    return new DroverError("terminal", text);
  }
  if (isPlaced && all === true && mayRestartAll(view)) return null;
  const what = task === undefined ? "no task of the run is running" : `task "${task}" is not running`;
  return new DroverError("not_running", what);
}

/** Carries out a restart or a signal. Returns whether the request is accepted. */
export function foldRequest(run: RunDraft, event: TaskRequest): boolean {
  if (!run.isPlaced()) return false;
  if (whyRefused(run.state, event.request) !== null) return false;
  if (event.type === "restart") restartTasks(run, event.request);
  else signalTasks(run, event.request);
  return true;
}

/**
 * Restarts tasks at a user's request. Running tasks are stopped first, and the restart does not count against
 * their policies (restart.md#row-2, tasks.md#restart-by-hand). A restart of `all` begins the stages again,
 * and also starts tasks that have ended. The group's shutdown delay applies unless the restart is for one
 * task. The shutdown delays of the tasks do not apply.
 */
function restartTasks(run: RunDraft, { task: only, all, by }: TaskRestart): void {
  const { view, now } = run;
  const { shutdownDelayMs } = view.group;
  const restartAt = only === undefined && shutdownDelayMs > 0 ? now + shutdownDelayMs : undefined;
  const restartsAll = all === true && only === undefined && mayRestartAll(view);
  const unseen = restartsAll ? view.members.filter((one) => isUnseen(view, one, now)) : [];
  for (const { task, n, known } of [...running(view, only), ...unseen]) {
    if (known.restartOf === n) continue;
    run.changeTask(task, { restartOf: n, restartAt });
    noteRestart(run, task, by);
  }
  if (restartsAll) restartAll(run, by);
}

/** Whether the host has not reported a task as running, although the host may already have its order. */
function isUnseen(view: GroupView, one: Member, now: Instant): boolean {
  if (one.task.hook === "poststop" || one.isStopping) return false;
  return one.state === "pending" && mayBeOrdered(view, one, now);
}

function noteRestart(run: RunDraft, { name }: GroupTask, by: string): void {
  const reason = `${by} asked for it`;
  const about = { task: name, details: { restart_reason: reason } };
  run.note("Restart Signaled", run.now, `it is to be started again: ${reason}`, about);
}

/**
 * Whether all tasks can be restarted. They cannot if the group or its host stops all tasks, or once all tasks
 * except poststop tasks are dead (tasks.md#life).
 */
function mayRestartAll({ record, members, hostStop }: GroupView): boolean {
  return record.kill === undefined && hostStop === undefined && !allButPoststopDead(members);
}

/** Starts every task again in the order of the stages. Running tasks start again after they have ended. */
function restartAll(run: RunDraft, by: string): void {
  const { view, record: before, now } = run;
  for (const { task, state, n, known, isStopping } of view.members) {
    const { dead, restartOf, startAt, restarts } = known;
    if (task.hook === "poststop" || isStopping) continue;
    if (dead === undefined) {
      if (state === "running" || restartOf === n) run.changeTask(task, { round: n + 1 });
      else if (startAt !== undefined) run.changeTask(task, { round: n, startAt: undefined });
      continue;
    }
    noteRestart(run, task, by);
    run.changeTask(task, {
      dead: undefined,
      losses: 0,
      n: n + 1,
      round: n + 1,
      startAt: undefined,
      restarts: restarts + 1,
      lastRestart: now,
    });
    const details = { start_delay: "0", restart_reason: "asked_for" };
    run.note("Restarting", now, "it is started again", { task: task.name, details });
  }
  const isNews = run.record !== before || view.members.some(({ state }) => state === "running");
  if (isNews) run.set({ stage: "restarting" });
}

/** Sends a signal. Its number lets the host deliver the signal at most once (host-protocol.md#orders). */
function signalTasks(run: RunDraft, { task: only, signal, by }: TaskSignal): void {
  const { view } = run;
  const atOnce = signal === "SIGKILL" ? killable(view, only) : [];
  const others = withProcess(view, only).filter((one) => !atOnce.includes(one));
  for (const { task, n } of atOnce) {
    run.changeTask(task, { killNow: n });
    noteSignal(run, task, `${by} asked to kill it at once`, signal, by);
  }
  for (const { task, attempt } of others) {
    if (attempt === undefined) continue;
    const n = run.record.signaled + 1;
    const signals = [...signalsDue(run.record), { id: attempt.id, signal, n }].slice(-MAX_SIGNALS_KEPT);
    run.set({ signaled: n, signals });
    noteSignal(run, task, `${by} sends it ${signal}`, signal, by);
  }
}

function noteSignal(run: RunDraft, { name }: GroupTask, text: string, signal: SignalName, by: string): void {
  const details = { task_signal: signal, task_signal_reason: `${by} asked for it` };
  run.note("Signaling", run.now, text, { task: name, details });
}

/** The signals to attempts that have not ended. A signal stays in the orders as long as its attempt. */
export function signalsDue({ signals, tasks }: AllocationRecord): SentSignal[] {
  const attempts = tasks.flatMap((task) => task.attempts);
  return signals.filter(({ id }) => attempts.some((one) => one.id === id && !isOver(one)));
}
