import { formatDuration, formatSeconds } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import { earlierOf, type Next, nextAt, nextBy } from "../../next.ts";
import type { Group, GroupTask } from "../../spec.ts";
import { killTimeoutOf } from "../placements/placement.ts";
import type { AllocationRecord, PlacementRecord, TaskRecord } from "../state.ts";
import { turnsFrom } from "../tasks/group.ts";
import { allButPoststopDead, hasTurn, type TaskView } from "../tasks/lifecycle.ts";
import { attemptOf, groupOfRun, isKilledNow, isOver, isStopping, recordOf, viewsOf } from "../tasks/tasks.ts";
import { deadlineOf, isTimedByHost } from "../time/time-limits.ts";
import { poststopBy } from "../user/hurry.ts";
import { beingStopped, isHostEnding } from "./why-stopped.ts";

/** What is said of a stop: who is stopped how, and what happens next. */
interface Wait {
  text: string;
  next: Next;
}

/** What the stop of a task depends on. */
interface Scene {
  group: Group;
  views: TaskView[];
  placement: PlacementRecord;
  now: Instant;
}

/** How far the stop of one task is. `at`: when it is told to end; infinite: others come first. */
interface Stop {
  task: GroupTask;
  how: "delayed" | "told" | "later" | "killed";
  at: Instant;
}

/**
 * Why a run is being stopped, wholly or from inside, and what comes next: the end of a shutdown delay, the
 * word of its host, or the end of its poststop tasks. Null: nothing is being stopped.
 */
export function stopWait(record: AllocationRecord, placement: PlacementRecord, now: Instant): Wait | null {
  if (record.wish === null && record.kill === undefined && !isHostEnding(record)) return null;
  const group = groupOfRun(record);
  const views = viewsOf(record, group, placement.epoch);
  const why = beingStopped(record);
  const live = views.filter((view) => view.state !== "dead").map((view) => view.task);
  const stops = live
    .filter((task) => isStopping(record, task))
    .map((task) => stopOf(record, { group, views, placement, now }, task));
  if (stops.length === 0) {
    const names = quoted(live);
    const [has, ends] = live.length === 1 ? ["task", "runs to its end"] : ["tasks", "run to their ends"];
    const text = `${why}; its poststop ${has} ${names} ${allButPoststopDead(views) ? ends : "come last"}`;
    const restarting = restartWait(record, now);
    if (restarting !== null) return { ...restarting, text: `${why}; ${restarting.text}` };
    const next = nextBy("end", `wait for ${names} to end`, "command");
    const by = poststopBy(record);
    if (by === undefined) return { text, next };
    const at = by + Math.min(...live.map(({ shutdownDelayMs }) => shutdownDelayMs));
    const over = nextAt("stop_task", `tell ${names} to end: the time of poststop is over`, at, "command");
    return { text, next: earlierOf(next, over) };
  }
  const text = [why, ...stops.map((stop) => stopText(stop, group, placement, now))].join("; ");
  return { text, next: nextOf(stops, group) };
}

/** What is said of tasks that are stopped to be started again; null: there are none. */
export function restartWait(record: AllocationRecord, now: Instant): Wait | null {
  const stopped = record.tasks.filter(({ restartOf, n = 1 }) => restartOf === n);
  if (stopped.length === 0) return null;
  const names = quoted(stopped);
  const isKilled = ({ killNow, n = 1 }: TaskRecord) => killNow === n;
  const stop = stopped.every(isKilled) ? "killed at once" : "stopped";
  const text = `${names} ${stopped.length === 1 ? "is" : "are"} ${stop}, to be started again`;
  const waiting = stopped.filter((task) => !isKilled(task));
  const later = waiting.map(({ restartAt = 0 }) => restartAt).filter((at) => at > now);
  const [first] = later.sort((a, b) => a - b);
  if (first !== undefined) return { text, next: nextAt("stop_task", `stop ${names}`, first, null) };
  return { text, next: nextBy("confirm", "wait for the host to confirm", "host") };
}

function stopOf(record: AllocationRecord, scene: Scene, task: GroupTask): Stop {
  if (isKilledNow(record, task)) return { task, how: "killed", at: scene.now };
  if (isTooLate(record, scene, task)) return { task, how: "told", at: scene.now };
  const { restartOf, restartAt = 0, n = 1 } = recordOf(record, task);
  // A stop for another start may be under way already.
  const at = Math.min(
    turnOf(record, scene, task) + task.shutdownDelayMs,
    restartOf === n ? restartAt : Infinity,
  );
  if (at === Infinity) return { task, how: "later", at };
  return { task, how: at > scene.now ? "delayed" : "told", at };
}

/** Whether a task is told to end because the time of its run is over, and its host does not see to that. */
function isTooLate(record: AllocationRecord, { placement, now }: Scene, task: GroupTask): boolean {
  const deadline = deadlineOf(record, placement.from);
  const attempt = attemptOf(record, recordOf(record, task), placement.epoch);
  const over = deadline !== undefined && now >= deadline && record.wish === null;
  return over && !isTimedByHost(attempt) && (attempt === undefined || !isOver(attempt));
}

/** When it is its turn to be stopped; infinite, as long as others come first. */
function turnOf(record: AllocationRecord, { group, views, now }: Scene, task: GroupTask): Instant {
  const { stopFrom } = recordOf(record, task);
  if (stopFrom !== undefined) return stopFrom;
  // Before any has its turn the group's own delay runs.
  const turn = turnsFrom(record, group);
  return turn > now && !isHostEnding(record) && hasTurn(task, views) ? turn : Infinity;
}

function stopText({ task, how, at }: Stop, group: Group, placement: PlacementRecord, now: Instant): string {
  const who = group.lone ? "its command" : `task "${task.name}"`;
  if (how === "killed") return `${who} is killed at once`;
  const timeout = formatDuration(killTimeoutOf(task, placement));
  const told = `gets ${task.spec.killSignal}, and is killed after ${timeout}`;
  if (how === "told") return `${who} ${told}`;
  if (how === "later") return `${who} is stopped after the others`;
  return `${who} ${told}, once its shutdown delay is over in ${formatSeconds(at - now)}`;
}

function nextOf(stops: Stop[], group: Group): Next {
  const delayed = stops.filter(({ how }) => how === "delayed").sort((a, b) => a.at - b.at);
  const [first] = delayed;
  if (first === undefined) return nextBy("confirm", "wait for the host to confirm", "host");
  const tasks = delayed.filter(({ at }) => at === first.at).map(({ task }) => task);
  const what = group.lone ? "the command" : quoted(tasks);
  return nextAt("stop_task", `tell ${what} to end`, first.at, "host");
}

function quoted(tasks: readonly { name: string }[]): string {
  return tasks.map(({ name }) => `"${name}"`).join(", ");
}
