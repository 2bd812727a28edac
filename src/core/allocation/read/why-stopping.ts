// What has been done to stop a run, or a task that restarts, and what happens next (`why`)?
import { formatDuration, formatSeconds } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import { earlierOf, type Next, nextAt, nextBy } from "../../next.ts";
import type { Group, GroupTask } from "../../spec.ts";
import { killTimeoutOf } from "../placements/placement.ts";
import type { PlacementRecord } from "../state.ts";
import { allButPoststopDead, hasTurn, poststopBy, turnsFrom, turnsHaveBegun } from "../tasks/group.ts";
import { type GroupView, isOver, type Member } from "../tasks/tasks.ts";
import { deadlineOf, isTimedByHost } from "../time/time-limits.ts";
import { beingStopped } from "./why-stopped.ts";

/** A stop in words: which tasks stop, how they stop, and what happens next. */
interface Wait {
  text: string;
  next: Next;
}

/** The stop of one task. `at`: when the task is told to stop. `Infinity`: after other tasks have stopped. */
interface Stop {
  task: GroupTask;
  how: "delayed" | "told" | "later" | "killed";
  at: Instant;
}

/** The run's placement, and the run's time limit, which may come before the end of a delay. */
interface Context {
  placement: PlacementRecord;
  limit: Next | null;
  now: Instant;
}

/**
 * Why a run is being stopped, and what happens next: a shutdown delay ends, the host confirms the stop, or
 * poststop tasks end.
 */
export function stopWait(view: GroupView, context: Context): Wait {
  const { placement, now } = context;
  const why = beingStopped(view);
  const live = view.members.filter(({ state }) => state !== "dead");
  const stops = live.filter(({ isStopping }) => isStopping).map((one) => stopOf(view, one, placement, now));
  if (stops.length === 0) return poststopWait(view, live, why, context);
  const text = [why, ...stops.map((stop) => stopText(stop, view.group, placement, now))].join("; ");
  return { text, next: nextOf(stops, view.group, context.limit) };
}

/** The wait when no task is being stopped. The run waits for poststop tasks to end, or to restart. */
function poststopWait(view: GroupView, live: Member[], why: string, context: Context): Wait {
  const restarting = live.filter(({ known, n }) => known.restartOf === n);
  if (restarting.length > 0) {
    const wait = restartWait(view, restarting, context);
    return { ...wait, text: `${why}; ${wait.text}` };
  }
  const names = quoted(live);
  const [has, ends] = live.length === 1 ? ["task", "runs to its end"] : ["tasks", "run to their ends"];
  const isLast = allButPoststopDead(view.members);
  const text = `${why}; its poststop ${has} ${names} ${isLast ? ends : "come last"}`;
  const next = nextBy("end", `wait for ${names} to end`, "command");
  const by = poststopBy(view);
  if (by === undefined) return { text, next };
  const at = by + Math.min(...live.map(({ task }) => task.shutdownDelayMs));
  const over = nextAt("stop_task", `tell ${names} to end: the time of poststop is over`, at, "command");
  return { text, next: earlierOf(next, over) };
}

/** The wait for tasks that are stopped and will start again. */
export function restartWait(view: GroupView, stopped: Member[], { placement, limit, now }: Context): Wait {
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
  // A stop for a restart may be under way already.
  const again = restartOf === n ? restartAt : Infinity;
  const at = Math.min(turnOf(view, one, now) + task.shutdownDelayMs, again);
  if (at === Infinity) return { task, how: "later", at };
  return { task, how: at > now ? "delayed" : "told", at };
}

/**
 * Whether the control plane stops a task at the run's time limit, since its host does not enforce the limit.
 */
function isTooLate(
  { record }: GroupView,
  { attempt }: Member,
  placement: PlacementRecord,
  now: Instant,
): boolean {
  const deadline = deadlineOf(record, placement.from);
  const over = deadline !== undefined && now >= deadline && record.stopRequest === null;
  return over && !isTimedByHost(attempt) && (attempt === undefined || !isOver(attempt));
}

/** When it is a task's turn to stop; `Infinity`: after other tasks. */
function turnOf(view: GroupView, { task, known }: Member, now: Instant): Instant {
  if (known.stopFrom !== undefined) return known.stopFrom;
  // The group's shutdown delay comes before the first turn.
  const isDelayed = !turnsHaveBegun(view, now) && view.hostStop === undefined;
  return isDelayed && hasTurn(task, view.members) ? turnsFrom(view) : Infinity;
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
