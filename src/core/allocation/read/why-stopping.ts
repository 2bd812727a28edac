// How far is the stop of a run, or of those of its tasks that are to be started again?
import { formatDuration, formatSeconds } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import { earlierOf, type Next, nextAt, nextBy } from "../../next.ts";
import type { Group, GroupTask } from "../../spec.ts";
import { killTimeoutOf } from "../placements/placement.ts";
import type { PlacementRecord } from "../state.ts";
import { turnsFrom } from "../tasks/group.ts";
import { allButPoststopDead, hasTurn } from "../tasks/lifecycle.ts";
import { type GroupView, isOver, type Member } from "../tasks/tasks.ts";
import { deadlineOf, isTimedByHost } from "../time/time-limits.ts";
import { poststopBy } from "../user/hurry.ts";
import { beingStopped } from "./why-stopped.ts";

/** What is said of a stop: who is stopped how, and what happens next. */
interface Wait {
  text: string;
  next: Next;
}

/** How far the stop of one task is. `at`: when it is told to end; infinite: others come first. */
interface Stop {
  task: GroupTask;
  how: "delayed" | "told" | "later" | "killed";
  at: Instant;
}

/** What is known beside the group. `limit`: the end of its time, which may come before that of a delay. */
interface Scene {
  placement: PlacementRecord;
  limit: Next | null;
  now: Instant;
}

/**
 * Why a run is being stopped, wholly or from inside, and what comes next: the end of a shutdown delay, the
 * word of its host, or the end of its poststop tasks.
 */
export function stopWait(view: GroupView, scene: Scene): Wait {
  const { placement, now } = scene;
  const why = beingStopped(view.record);
  const live = view.members.filter(({ state }) => state !== "dead");
  const stops = live.filter(({ isStopping }) => isStopping).map((one) => stopOf(view, one, placement, now));
  if (stops.length === 0) return poststopWait(view, live, why, scene);
  const text = [why, ...stops.map((stop) => stopText(stop, view.group, placement, now))].join("; ");
  return { text, next: nextOf(stops, view.group, scene.limit) };
}

/** Only poststop tasks live, and run to their ends. */
function poststopWait(view: GroupView, live: Member[], why: string, scene: Scene): Wait {
  const restarting = live.filter(({ known, n }) => known.restartOf === n);
  if (restarting.length > 0) {
    const wait = restartWait(view, restarting, scene);
    return { ...wait, text: `${why}; ${wait.text}` };
  }
  const names = quoted(live);
  const [has, ends] = live.length === 1 ? ["task", "runs to its end"] : ["tasks", "run to their ends"];
  const isLast = allButPoststopDead(view.members);
  const text = `${why}; its poststop ${has} ${names} ${isLast ? ends : "come last"}`;
  const next = nextBy("end", `wait for ${names} to end`, "command");
  const by = poststopBy(view.record);
  if (by === undefined) return { text, next };
  const at = by + Math.min(...live.map(({ task }) => task.shutdownDelayMs));
  const over = nextAt("stop_task", `tell ${names} to end: the time of poststop is over`, at, "command");
  return { text, next: earlierOf(next, over) };
}

/** What is said of tasks that are stopped to be started again. */
export function restartWait(view: GroupView, stopped: Member[], { placement, limit, now }: Scene): Wait {
  const names = quoted(stopped);
  const isKilled = ({ known, n }: Member) => known.killNow === n;
  const stop = stopped.every(isKilled) ? "killed at once" : "stopped";
  const text = `${names} ${stopped.length === 1 ? "is" : "are"} ${stop}, to be started again`;
  const waiting = stopped.filter((one) => !isKilled(one) && !isTooLate(view, one, placement, now));
  const later = waiting.map(({ known: { restartAt = 0 } }) => restartAt).filter((at) => at > now);
  const [first] = later.sort((a, b) => a - b);
  if (first !== undefined) {
    const next = nextAt("stop_task", `stop ${names}`, first, null);
    return { text, next: earlierOf(next, limit) };
  }
  return { text, next: nextBy("confirm", "wait for the host to confirm", "host") };
}

function stopOf(view: GroupView, one: Member, placement: PlacementRecord, now: Instant): Stop {
  const { task, known, n } = one;
  if (one.isKilledNow) return { task, how: "killed", at: now };
  if (isTooLate(view, one, placement, now)) return { task, how: "told", at: now };
  const { restartOf, restartAt = 0 } = known;
  // A stop for another start may be under way already.
  const again = restartOf === n ? restartAt : Infinity;
  const at = Math.min(turnOf(view, one, now) + task.shutdownDelayMs, again);
  if (at === Infinity) return { task, how: "later", at };
  return { task, how: at > now ? "delayed" : "told", at };
}

/** Whether a task is told to end because the time of its run is over, and its host does not see to that. */
function isTooLate(
  { record }: GroupView,
  { attempt }: Member,
  placement: PlacementRecord,
  now: Instant,
): boolean {
  const deadline = deadlineOf(record, placement.from);
  const over = deadline !== undefined && now >= deadline && record.wish === null;
  return over && !isTimedByHost(attempt) && (attempt === undefined || !isOver(attempt));
}

/** When it is its turn to be stopped; infinite, as long as others come first. */
function turnOf(view: GroupView, { task, known }: Member, now: Instant): Instant {
  if (known.stopFrom !== undefined) return known.stopFrom;
  // Before any has its turn the group's own delay runs.
  const turn = turnsFrom(view);
  return turn > now && view.hostStop === undefined && hasTurn(task, view.members) ? turn : Infinity;
}

function stopText({ task, how, at }: Stop, group: Group, placement: PlacementRecord, now: Instant): string {
  const who = group.lone ? "its command" : `task "${task.name}"`;
  const timeout = formatDuration(killTimeoutOf(task, placement));
  const told = `gets ${task.spec.killSignal}, and is killed after ${timeout}`;
  switch (how) {
    case "killed":
      return `${who} is killed at once`;
    case "told":
      return `${who} ${told}`;
    case "later":
      return `${who} is stopped after the others`;
    case "delayed":
      return `${who} ${told}, once its shutdown delay is over in ${formatSeconds(at - now)}`;
  }
}

function nextOf(stops: Stop[], group: Group, limit: Next | null): Next {
  const delayed = stops.filter(({ how }) => how === "delayed").sort((a, b) => a.at - b.at);
  const [first] = delayed;
  if (first === undefined) return nextBy("confirm", "wait for the host to confirm", "host");
  const what = group.lone ? "the command" : quoted(delayed.filter(({ at }) => at === first.at));
  return earlierOf(nextAt("stop_task", `tell ${what} to end`, first.at, "host"), limit);
}

function quoted(tasks: readonly { task: GroupTask }[]): string {
  return tasks.map(({ task }) => `"${task.name}"`).join(", ");
}
