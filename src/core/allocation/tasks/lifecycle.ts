// In which order do the tasks of a group start and stop, and when does one task's end stop the others?
import type { Instant } from "../../../shared/machine.ts";
import type { GroupTask } from "../../spec.ts";
import type { Reaction, Stage } from "../state.ts";

/** A task as the rules of its group see it. */
export interface TaskView {
  task: GroupTask;
  state: "pending" | "running" | "dead";
  /** Whether it has run since the group began. A task that ends at once is seldom seen running. */
  started: boolean;
  /** It waits for its next start for longer than a host takes to report a running task. */
  delayed?: boolean;
  /** It is being stopped, to be started again. */
  restarting?: boolean;
  /** Whether a dead task has failed, and since when it is dead. */
  failed: boolean;
  deadAt: Instant;
}

const isPoststop = ({ task }: TaskView) => task.hook === "poststop";

/** A dead task in a restart of all tasks was removed by an update: nothing waits for it. */
const isAtRest = ({ state, restarting }: TaskView) => state !== "running" && restarting !== true;

/**
 * Whether main tasks need not wait for a prestart sidecar: it runs, or will run again before its host could
 * report it. An update may have removed it, so that it is dead; a failed one ends the group
 * (decisions/tasks.md#gate-of-prestart-sidecars).
 */
const serves = ({ state, started, delayed }: TaskView) => state !== "pending" || (started && !delayed);

/** Whether all tasks but the poststop ones are dead: only then poststop tasks run (tasks.md#poststop). */
export function allButPoststopDead(views: TaskView[]): boolean {
  return views.every((view) => isPoststop(view) || view.state === "dead");
}

/** The stage that a group reaches now, possibly several stages on (tasks.md#stages). */
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
 * How the group reacts to its dead tasks (tasks.md#reactions). A leader that ended well comes first, then the
 * first failure. Null: nothing is stopped.
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

/** The task to blame: the first to fail by time, then by name (decisions/tasks.md#who-is-blamed). */
export function firstFailed<View extends TaskView>(views: View[]): View | undefined {
  const failed = views.filter((view) => view.state === "dead" && view.failed);
  return failed.sort((a, b) => a.deadAt - b.deadAt || (a.task.name < b.task.name ? -1 : 1))[0];
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
