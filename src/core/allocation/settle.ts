// Which changes follow from the time and from the state of the tasks, whatever the event was?
import type { Instant } from "../../shared/machine.ts";
import { changed, type PlacedRun, type RunDraft } from "./draft.ts";
import { conclude } from "./end.ts";
import { settleHold } from "./placements/hold.ts";
import type { AllocationState } from "./state.ts";
import { requestStop } from "./stop.ts";
import { isIdle, limitPoststop, settleGroup } from "./tasks/group.ts";
import { deadlineOf, limitsEachTry, timeIsOver, timeoutOfWait } from "./time/time-limits.ts";

/** The state after every change that follows from the run's record and the time. */
export function settle(state: AllocationState, now: Instant): AllocationState {
  return changed(state, now, settleRun);
}

function settleRun(run: RunDraft): void {
  if (run.record.ended) settleHold(run);
  else if (run.isPlaced()) settlePlaced(run);
  else settleWaiting(run);
}

/** Applies the time limits of a run without a placement, and ends the delay before its next placement. */
function settleWaiting(run: RunDraft): void {
  const { now } = run;
  const late = timeoutOfWait(run.state, now);
  if (late !== null) requestStop(run, late);
  const { stopRequest, placeAt } = run.record;
  if (stopRequest === null && placeAt !== undefined && now >= placeAt)
    run.set({ placeAt: undefined, waitingSince: now });
}

function settlePlaced(run: PlacedRun): void {
  stopTimedOut(run);
  limitPoststop(run);
  do settleGroup(run);
  while (stopBetweenTasks(run));
  if (run.view.members.every(({ state }) => state === "dead")) conclude(run);
}

/**
 * Stops the whole run if its host ended a task at the run's time limit. Nothing happens if the group was
 * already ending because of its leader or a failure: then the task would have been stopped anyway.
 */
function stopTimedOut(run: PlacedRun): void {
  const { record, now } = run;
  const { epoch, from } = run.placement;
  const attempts = record.tasks.flatMap((task) => task.attempts);
  const ended = attempts.filter((one) => one.epoch === epoch && one.timedOut).map(({ id }) => id);
  if (ended.length === 0 || record.stopRequest !== null || wasToEnd(run, new Set(ended))) return;
  requestStop(run, timeIsOver(record, Math.min(deadlineOf(record, from) ?? now, now)));
}

/** Whether the group would be ending even if these attempts were still running. */
function wasToEnd(run: PlacedRun, ended: Set<string>): boolean {
  const { members } = run.view;
  const posts = members.filter(({ task }) => task.hook === "poststop");
  if (posts.some(({ known }) => known.attempts.some(({ id }) => ended.has(id)))) return false;
  const trial = run.trial();
  const tasks = run.record.tasks.map((task) => ({
    ...task,
    attempts: task.attempts.map((one) => (ended.has(one.id) ? { ...one, state: "stopping" as const } : one)),
  }));
  trial.set({ tasks });
  settleGroup(trial);
  return trial.record.kill !== undefined;
}

/**
 * Stops a placed run at its time limit if its host has nothing of the run to stop: the remaining tasks wait
 * for the control plane, for example in a restart delay. Returns whether this function has stopped the run.
 */
function stopBetweenTasks(run: PlacedRun): boolean {
  const { view, record, now } = run;
  const deadline = deadlineOf(record, run.placement.from);
  if (record.stopRequest !== null || deadline === undefined || now < deadline) return false;
  const again = record.outcome?.again === true; // only its logs are awaited
  if (again && limitsEachTry(record)) return false; // the try is over
  if (!again && !isIdle(view, now)) return false;
  const ends = view.members.map(({ deadAt }) => deadAt);
  requestStop(run, timeIsOver(record, Math.min(now, Math.max(deadline, ...ends))));
  return true;
}
