// What follows from the time and from the state of the tasks, whatever the event was?
import type { Instant } from "../../shared/machine.ts";
import { changed, type PlacedRun, type RunDraft } from "./draft.ts";
import { conclude } from "./end.ts";
import type { AllocationState } from "./state.ts";
import { requestStop } from "./stop.ts";
import { isIdle, limitPoststop, settleGroup } from "./tasks/group.ts";
import { deadlineOf, timeIsOver, timeoutOfWait } from "./time/time-limits.ts";

/** The run after everything that follows from its record and the time. */
export function settle(state: AllocationState, now: Instant): AllocationState {
  return changed(state, now, settleRun);
}

function settleRun(run: RunDraft): void {
  if (run.record.ended) return;
  if (run.isPlaced()) settlePlaced(run);
  else settleWaiting(run);
}

/** A run without a placement waits for its time limits, and for the delay before it wants another one. */
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
 * If the host ended a task because of the run's time limit, the limit ends the other tasks, too, unless
 * the group was ending already, by a leader or a failure: then the task would have been stopped anyway.
 */
function stopTimedOut(run: PlacedRun): void {
  const { record, now } = run;
  const { epoch, from } = run.placement;
  const attempts = record.tasks.flatMap((task) => task.attempts);
  const ended = attempts.filter((one) => one.epoch === epoch && one.timedOut).map(({ id }) => id);
  if (ended.length === 0 || record.stopRequest !== null || wasToEnd(run, new Set(ended))) return;
  requestStop(run, timeIsOver(record, Math.min(deadlineOf(record, from) ?? now, now)));
}

/** Whether the group would have been stopped without the ends of these attempts. */
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
 * Stops a run at its time limit that has a placement but nothing on its host: its remaining tasks wait for
 * this control plane, for instance in a restart delay. Returns whether it does.
 */
function stopBetweenTasks(run: PlacedRun): boolean {
  const { view, record, now } = run;
  const deadline = deadlineOf(record, run.placement.from);
  if (record.stopRequest !== null || deadline === undefined || now < deadline) return false;
  const again = record.outcome?.again === true; // only its logs are missing
  if (!again && !isIdle(view, now)) return false;
  const ends = view.members.map(({ deadAt }) => deadAt);
  requestStop(run, timeIsOver(record, Math.min(now, Math.max(deadline, ...ends))));
  return true;
}
