// How do a placement and its run end? They end once all tasks are dead, once the worker says that the
// placement is over, or once the pool confirms that the run has no placement.
import type { Instant } from "../../shared/machine.ts";
import type { Ended } from "../messages.ts";
import type { PlacedRun, RunDraft } from "./draft.ts";
import { givenUpKills, outcomeOf, outcomeOfGivenUpKill, outcomeOfLoss, outcomeOfStop } from "./outcome.ts";
import { lastByteBy, logsComplete, noteTruncated } from "./output/logs.ts";
import { uploadingAttempt } from "./output/outputs.ts";
import { beginHold, endHold, isToBeHeld } from "./placements/hold.ts";
import { closePlacement, takeUp } from "./placements/placement.ts";
import { mayReschedule, reschedule, resetTasks } from "./placements/reschedule.ts";
import { isSavingData } from "./placements/sticky.ts";
import { describeEnd } from "./read/end-text.ts";
import { tryAgain } from "./retry/again.ts";
import { endsTryOnly, retryFor } from "./retry/decide.ts";
import { noteParked } from "./retry/parked.ts";
import type { AllocationRecord, Outcome, PlacementRecord } from "./state.ts";
import { requestStop } from "./stop.ts";
import { attemptOf, epochOf, groupView, isOver } from "./tasks/tasks.ts";
import { deadlineOf, timeIsOver } from "./time/time-limits.ts";

/**
 * Concludes the open epoch after all its tasks have died. Stores the outcome at once. Closes the epoch once
 * the last log bytes, and the data of a sticky run, are stored or given up. Then the run ends, or is placed
 * again. If its machine is kept, the run ends, and the epoch stays open.
 */
export function conclude(run: PlacedRun): void {
  const { view, now } = run;
  const { epoch } = run.placement;
  const failedAt = failTime(run.record, now);
  const outcome = run.record.outcome ?? outcomeOf(view, failedAt, now);
  if (run.record.outcome === null) run.set({ outcome });
  const { record } = run;
  const attempts = record.tasks.flatMap((task) => task.attempts.filter((one) => one.epoch === epoch));
  const complete = attempts.every(({ id }) => logsComplete(record, id));
  const waits = !complete && record.forced === undefined && now < lastByteBy(record, outcome);
  if (waits || isSavingData(record, now)) return;
  if (!outcome.again && isToBeHeld(record, outcome)) {
    beginHold(run);
    finish(run, outcome);
    return;
  }
  const placed = run.placement;
  closePlacement(run, "gone", now, view.hostStop === "interruption" ? "interruption" : undefined);
  goOn(run, outcome, placed, failedAt);
}

/** After the end of a placement: the run is tried again, is placed again, or ends with this outcome. */
function goOn(run: RunDraft, outcome: Outcome, placed: PlacementRecord, failedAt: Instant): void {
  const { again = false, retry } = outcome;
  if (again && retry !== undefined) tryAgain(run, placed, failedAt, retry, describeEnd(run.record, outcome));
  else if (again) reschedule(run, placed.worker, failedAt);
  else finish(run, outcome);
}

/**
 * Applies the worker's message that the placement is over (rule R2). The run then ends, or is placed again.
 */
export function foldEnded(run: RunDraft, ended: Ended): void {
  const { record, now } = run;
  if ((record.ended && record.hold === undefined) || !takeUp(run, ended, now)) return;
  const { placement } = run;
  const at = Math.max(placement.from, Math.min(now, ended.at));
  if (record.ended) {
    endHold(run, ended.how, at);
    return;
  }
  const failedAt = failTime(record, at);
  closePlacement(run, ended.how, at, ended.cause);
  const { outcome, stopRequest } = record;
  const [stuck] = givenUpKills(record);
  const lost = outcome === null ? retryAfterLoss(record, placement, { ...ended, at }) : undefined;
  if (outcome !== null) {
    goOn(run, outcome, placement, failedAt);
  } else if (stuck !== undefined) {
    finish(run, outcomeOfGivenUpKill(stuck, at));
  } else if (lost !== undefined) {
    goOn(run, lost, placement, failedAt);
  } else if (stopRequest !== null) {
    finish(run, outcomeOfStop(stopRequest, Math.max(failedAt, stopRequest.at), now));
  } else if (!ended.held || ended.how === "refused") {
    resetTasks(run);
  } else if (mayReschedule(run.view.group.reschedule, record.reschedules, failedAt)) {
    reschedule(run, ended.worker, failedAt);
  } else {
    endLost(run, record, placement, { ...ended, at });
  }
}

/**
 * The end of a try whose placement is over before its tasks had an end, if another try follows. `before`: the
 * run before its placement was closed. A machine that is lost after the time limit of its try counts as that.
 */
function retryAfterLoss(
  before: AllocationRecord,
  placement: PlacementRecord,
  ended: Ended,
): Outcome | undefined {
  const view = groupView(before);
  const { stopRequest } = before;
  if (view.group.retry === undefined || !ended.held || ended.how === "refused") return undefined;
  if (stopRequest !== null && !endsTryOnly(view)) return undefined;
  const deadline = deadlineOf(before, placement.from);
  const isOver = deadline !== undefined && ended.at >= deadline && uploadingAttempt(before) === undefined;
  const isInterrupted = ended.cause === "interruption" || view.hostStop === "interruption";
  const cause = isOver ? "timeout" : isInterrupted ? "interrupted" : "machine_lost";
  const late = isOver ? timeIsOver(before, deadline) : stopRequest;
  const retry = retryFor(view, { cause: stopRequest === null ? cause : "timeout", exitCode: null });
  if (retry === undefined) return undefined;
  const outcome =
    late === null ? outcomeOfLoss(before, ended, ended.at, ended.at) : outcomeOfStop(late, ended.at);
  return { ...outcome, again: true, retry };
}

/**
 * Ends a run that is not placed again after the loss of its machine. `before`: the run before its placement
 * was closed. If the machine was lost after the run's time limit, the run has timed out, since nobody can say
 * whether its command ended before the limit. If an attempt was already storing its outputs, its command had
 * ended, and the run ends as after any other loss.
 */
function endLost(run: RunDraft, before: AllocationRecord, placement: PlacementRecord, ended: Ended): void {
  const deadline = deadlineOf(before, placement.from);
  if (deadline === undefined || ended.at < deadline || uploadingAttempt(before) !== undefined)
    finish(run, outcomeOfLoss(before, ended, ended.at, run.now));
  else {
    const late = timeIsOver(before, deadline);
    requestStop(run, late, placement);
    finish(run, outcomeOfStop(late, ended.at, run.now));
  }
}

/** Ends a run that is to stop, once its pool has confirmed that the run has no placement. */
export function finishWithdrawn(run: RunDraft): void {
  const { record, now } = run;
  const { stopRequest, ended, endedEpoch } = record;
  if (stopRequest === null || ended || run.isPlaced()) return;
  const ends = record.tasks.flatMap((task) => task.attempts).filter(({ epoch }) => epoch === endedEpoch);
  const at = Math.max(stopRequest.at, ...ends.map(({ finishedAt }) => finishedAt ?? 0));
  finish(run, outcomeOfStop(stopRequest, at, now));
}

/**
 * When the open epoch failed: when its last task died. A task without a known end counts as dead at `at`
 * (tasks.md#never-ran, restart.md#fail-time).
 */
function failTime({ tasks }: AllocationRecord, at: Instant): Instant {
  return Math.max(...tasks.map(({ dead }) => dead?.at ?? at));
}

/** Ends the run: the outcome is final, and no epoch is open but that of a hold (rule R3). */
function finish(run: RunDraft, outcome: Outcome): void {
  const { record, now } = run;
  const attempts = record.tasks.flatMap((task) => task.attempts);
  for (const task of record.tasks) noteTruncated(run, task);
  const error = attempts.find(({ killError }) => killError !== null)?.killError ?? null;
  if ((record.stopRequest !== null && hadToEnd(record)) || error !== null) {
    const text = `all of it has ended${error === null ? "" : `, with an error: ${error}`}`;
    run.note("Killed", now, text, { details: killDetails(record, error) });
  }
  // The end of a machine and the ends of its attempts are timed by different clocks. No attempt may end later
  // than its run.
  const at = Math.max(outcome.at, ...attempts.map(({ finishedAt }) => finishedAt ?? 0));
  run.set({ outcome: at === outcome.at ? outcome : { ...outcome, at }, ended: true });
  noteParked(run);
}

/**
 * Whether the request to stop had any process to end. A task that was in its restart delay, or that never
 * started, had no process.
 */
function hadToEnd(record: AllocationRecord): boolean {
  return record.tasks.some((known) => {
    const present = attemptOf(record, known, epochOf({ ...record, ended: true }));
    if (present === undefined || present.startedAt === null) return false;
    return known.dead?.how === "killed" || !isOver(present);
  });
}

/** Details of the event `Killed` (tasks.md#event-killed). */
function killDetails(
  { stopRequest: request }: AllocationRecord,
  error: string | null,
): Record<string, string> {
  const reason: Record<string, string> = request === null ? {} : { kill_reason: request.reason };
  return error === null ? reason : { ...reason, kill_error: error };
}
