// Which tasks of a group start? Which tasks are stopped, and in which order? When does the end of one task
// stop the other tasks?
import { formatDuration } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { GroupTask } from "../../spec.ts";
import type { PlacedRun, RunDraft } from "../draft.ts";
import { killTimeoutOf } from "../placements/placement.ts";
import { reactionText, whyStopped } from "../read/why-stopped.ts";
import type { AllocationRecord, Reaction, Stage } from "../state.ts";
import { endTask } from "./attempt-end.ts";
import { type GroupView, isCutByHost, isWithHost, type Member, type TaskView } from "./tasks.ts";

/** How long poststop tasks may take in a run that is to stop, counted from when they may start. */
export const POSTSTOP_AFTER_WISH_MS = 5 * 60_000;

const isPoststop = ({ task }: TaskView) => task.hook === "poststop";

/** Whether a restart of all tasks need not wait for this task. A dead task was removed by an update. */
const isAtRest = ({ state, restarting }: TaskView) => state !== "running" && restarting !== true;

/**
 * Whether main tasks need not wait for this prestart sidecar. They need not wait if it runs, or if its
 * restart delay is so short that its host may not report the pause. They need not wait for a dead sidecar
 * either: an update has removed it, since a failed sidecar ends the group
 * (decisions/tasks.md#gate-of-prestart-sidecars).
 */
const serves = ({ state, started, delayed }: TaskView) => state !== "pending" || (started && !delayed);

/**
 * Applies everything that follows from the record alone: decides what becomes of tasks whose attempts have
 * ended, reacts to dead tasks, stops tasks whose turn it is, and opens gates. Repeats these steps until
 * nothing changes, so that the order in which facts became known does not matter.
 */
export function settleGroup(run: PlacedRun): void {
  let before: AllocationRecord;
  do {
    before = run.record;
    for (const { task } of run.view.members) settleTask(run, task);
    react(run);
    openGates(run);
  } while (run.record !== before);
}

function settleTask(run: PlacedRun, { name }: GroupTask): void {
  const { view } = run;
  const one = view.members.find(({ task }) => task.name === name);
  if (one !== undefined) endDelay(run, one);
  if (one?.phase.kind === "over") endTask(run, one, one.phase.attempt);
  else if (one?.isStopping && one.state !== "dead") stopTask(run, view, one);
}

/** Notes that the delay before a start is over, unless the host waits for it. */
function endDelay(run: PlacedRun, { task, known, n, attempt, state }: Member): void {
  const { startAt, delayOver } = known;
  if (startAt === undefined || attempt !== undefined || state === "dead" || isWithHost(known)) return;
  if (delayOver !== n && run.now >= startAt) run.changeTask(task, { delayOver: n });
}

/** Stops a task once its turn has come. */
function stopTask(run: PlacedRun, view: GroupView, one: Member): void {
  const { now } = run;
  const { task, known } = one;
  if (one.attempt === undefined && !mayBeOrdered(view, one, now)) {
    // A task that was never ordered is dead at once (tasks.md#change-9).
    run.changeTask(task, { dead: { at: now, how: "killed" } });
    return;
  }
  if (known.stopFrom !== undefined) return;
  const isAlone = known.removed !== undefined || view.hostStop !== undefined || one.isKilledNow;
  // Turns do not apply to poststop tasks.
  const isDelayed = !isAlone && task.hook !== "poststop" && !turnsHaveBegun(view, now);
  if (isDelayed || (!isAlone && !hasTurn(task, view.members))) return;
  run.changeTask(task, { stopFrom: now });
  noteStop(run, one);
}

function noteStop(run: PlacedRun, { task, isKilledNow }: Member): void {
  const { record, view, now } = run;
  const { name, shutdownDelayMs } = task;
  if (!view.group.lone || record.stopRequest === null) {
    const reason = whyStopped(view);
    const timeout = isKilledNow ? "0s" : formatDuration(killTimeoutOf(task, run.placement));
    const details = { kill_timeout: timeout, kill_reason: reason };
    run.note("Killing", now, reason, { task: name, details });
  }
  if (shutdownDelayMs === 0 || isKilledNow) return;
  const text = `waiting ${formatDuration(shutdownDelayMs)} before it is stopped`;
  run.note("Waiting for shutdown delay", now, text, { task: name });
}

/** When the turns to stop begin: after the group's shutdown delay (tasks.md#order-1). */
export function turnsFrom({ record: { stopRequest, kill }, group }: GroupView): Instant {
  return Math.min(stopRequest?.at ?? Infinity, kill?.at ?? Infinity) + group.shutdownDelayMs;
}

/**
 * Whether the group's shutdown delay is over, or it has none. Turns that have begun go on, even if the clock
 * goes back (tasks.md#order-1).
 */
export function turnsHaveBegun(view: GroupView, now: Instant): boolean {
  if (view.group.shutdownDelayMs === 0 || now >= turnsFrom(view)) return true;
  return view.members.some(({ task, known, isKilledNow }) => {
    const hadTurn = known.stopFrom !== undefined && known.removed === undefined && !isKilledNow;
    return hadTurn && task.hook !== "poststop";
  });
}

/** The rank of a task in the order of stopping (tasks.md#order-of-the-end). */
function killClass({ leader, sidecar }: GroupTask): number {
  if (leader) return 0;
  return sidecar ? 2 : 1;
}

/** Whether it is a task's turn to stop: all tasks of lower ranks are dead. */
export function hasTurn(task: GroupTask, views: TaskView[]): boolean {
  return views.every(
    (view) => isPoststop(view) || view.state === "dead" || killClass(view.task) >= killClass(task),
  );
}

/**
 * Until when poststop tasks of a run that is to stop may run. Their time counts from the request to stop, or
 * from the end of the last other task, whichever is later. Undefined if another task lives, or if the run is
 * not to stop.
 */
export function poststopBy({ record, members }: GroupView): Instant | undefined {
  const { stopRequest, ended, poststopOver } = record;
  if (stopRequest === null || ended || poststopOver !== undefined) return undefined;
  const others = members.filter((one) => !isPoststop(one));
  if (others.length === members.length || others.some(({ state }) => state !== "dead")) return undefined;
  // Poststop tasks begin when the last other task is known to have ended, perhaps long after its end.
  const ends = others.flatMap(({ deadAt, known }) => [deadAt, known.attempts.at(-1)?.heardAt ?? 0]);
  return Math.max(stopRequest.at, ...ends) + POSTSTOP_AFTER_WISH_MS;
}

/** Notes when the time of the poststop tasks is over. From then on, poststop tasks are stopped, too. */
export function limitPoststop(run: RunDraft): void {
  const by = poststopBy(run.view);
  if (by !== undefined && run.now >= by) run.set({ poststopOver: run.now });
}

/** Whether the whole group is being stopped. */
function isEnding({ record: { stopRequest, kill }, hostStop }: GroupView): boolean {
  return stopRequest !== null || kill !== undefined || hostStop !== undefined;
}

function react(run: PlacedRun): void {
  const { view, now } = run;
  const reaction = isEnding(view) ? null : reactionOf(view.members);
  if (reaction === null) return;
  run.set({ kill: { ...reaction, at: now } });
  const failed = reaction.type === "Sibling Task Failed";
  const details: Record<string, string> = failed ? { failed_sibling: reaction.task ?? "" } : {};
  for (const { task, state } of view.members) {
    if (state === "dead" || task.hook === "poststop") continue;
    run.note(reaction.type, now, reactionText(reaction), { task: task.name, details });
  }
}

/**
 * How the group reacts to its dead tasks (tasks.md#reactions). If the leader has ended successfully, the
 * group reacts to the leader. Otherwise it reacts to the task that failed first. Null: nothing is stopped.
 */
export function reactionOf(views: TaskView[]): Reaction | null {
  const own = views.filter((view) => !isPoststop(view));
  const live = own.filter(({ state }) => state !== "dead");
  if (live.length === 0) return null;
  const dead = own.filter(({ state }) => state === "dead");
  const leader = dead.find(({ task, failed }) => task.leader && !failed);
  if (leader !== undefined) return { type: "Leader Task Dead", task: leader.task.name };
  const culprit = firstFailed(dead);
  if (culprit !== undefined) return { type: "Sibling Task Failed", task: culprit.task.name };
  return live.every(({ task }) => task.sidecar) ? { type: "Main Tasks Dead", task: null } : null;
}

/**
 * The task that failed first. If several tasks failed at the same time, it is the first of them by name
 * (decisions/tasks.md#who-is-blamed).
 */
export function firstFailed<View extends TaskView>(views: View[]): View | undefined {
  const failed = views.filter((view) => view.state === "dead" && view.failed);
  return failed.sort((a, b) => a.deadAt - b.deadAt || (a.task.name < b.task.name ? -1 : 1))[0];
}

/**
 * Opens the next gates. While the group is being stopped, the gates stay closed, since a task that was never
 * ordered must not start.
 */
function openGates(run: PlacedRun): void {
  const { view } = run;
  if (isEnding(view)) return;
  const stage = stageOf(view);
  const reached = reachedStage(stage, view.members);
  if (reached !== stage) run.set({ stage: reached });
}

/** The stage of the open epoch. A new epoch skips the stages that have no tasks. */
function stageOf({ record, members }: GroupView): Stage {
  if (record.stage !== undefined) return record.stage;
  const fresh = members.map(({ task }): TaskView => {
    return { task, state: "pending", started: false, failed: false, deadAt: 0 };
  });
  return reachedStage("prestart", fresh);
}

/** The stage that a group reaches now, possibly several stages later (tasks.md#stages). */
export function reachedStage(stage: Stage, views: TaskView[]): Stage {
  const next = nextStage(stage, views);
  return next === stage ? stage : reachedStage(next, views);
}

function nextStage(stage: Stage, views: TaskView[]): Stage {
  const all = (hook: GroupTask["hook"], sidecar: boolean, is: (view: TaskView) => boolean) =>
    views.every((view) => view.task.hook !== hook || view.task.sidecar !== sidecar || is(view));
  switch (stage) {
    case "restarting":
      return views.every((view) => isPoststop(view) || isAtRest(view)) ? "prestart" : stage;
    case "prestart": {
      const prepared = all("prestart", false, ({ state, failed }) => state === "dead" && !failed);
      const served = all("prestart", true, serves);
      return prepared && served ? "main" : stage;
    }
    case "main":
      return all("main", false, ({ state, started }) => started || state === "dead") ? "poststart" : stage;
    case "poststart":
      return all("poststart", false, ({ state }) => state === "dead") ? "running" : stage;
    case "running":
      return stage;
  }
}

/** Whether the present attempt of a task may be ordered, or was ordered already. */
export function mayBeOrdered(view: GroupView, one: Member, now: Instant): boolean {
  const { task, known, restarting } = one;
  const { members } = view;
  if (restarting === true) return true;
  // A host that has stopped other tasks by itself starts no poststop task.
  if (task.hook === "poststop" && members.some((other) => isCutByHost(view, other))) return false;
  const isDue = known.delayOver === one.n || now >= (known.startAt ?? 0);
  return isWithHost(known) || (isDue && gateIsOpen(task, stageOf(view), members));
}

/** Whether the host has nothing of the run: some tasks are not dead, and all of these wait for an order. */
export function isIdle(view: GroupView, now: Instant): boolean {
  const left = view.members.filter(({ state }) => state !== "dead");
  const waits = (one: Member) => one.attempt === undefined && !mayBeOrdered(view, one, now);
  return left.length > 0 && left.every(waits);
}

/** Whether a task may start: the open gates of each stage (tasks.md#stages). */
export function gateIsOpen(task: GroupTask, stage: Stage, views: TaskView[]): boolean {
  if (task.hook === "poststop") return allButPoststopDead(views);
  if (stage === "restarting") return false;
  switch (task.hook) {
    case "prestart":
      return task.sidecar || stage === "prestart";
    case "main":
      return stage !== "prestart";
    case "poststart":
      return stage === "poststart" || (task.sidecar && stage === "running");
  }
}

/**
 * Whether all tasks except poststop tasks are dead. Poststop tasks run only after that (tasks.md#poststop).
 */
export function allButPoststopDead(views: TaskView[]): boolean {
  return views.every((view) => isPoststop(view) || view.state === "dead");
}
