// How does a placement end, and with it the run: all tasks are dead, the worker says that the placement is
// over, or somebody or a time limit wants the end?
import { formatDuration } from "../../shared/duration.ts";
import type { Instant } from "../../shared/machine.ts";
import type { Ended } from "../messages.ts";
import { givenUpKills, outcomeOf, outcomeOfGivenUpKill, outcomeOfLoss, outcomeOfStop } from "./outcome.ts";
import { lastByteBy, logsComplete } from "./output/logs.ts";
import { uploadingAttempt } from "./output/outputs.ts";
import { closePlacement, freshEpoch, killTimeoutOf, newPlacement } from "./placements/placement.ts";
import { reschedule } from "./placements/reschedule.ts";
import { isSavingData } from "./placements/sticky.ts";
import { addEvent } from "./read/events.ts";
import { reasonOf } from "./read/why-stopped.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type Outcome,
  openPlacement,
  type PlacementRecord,
  type StopRequest,
} from "./state.ts";
import { attemptOf, groupOfRun, groupView, isOver } from "./tasks/tasks.ts";
import { deadlineOf, timeIsOver } from "./time/time-limits.ts";

/**
 * Stores a request to stop the run. The first request counts, and a stored exit outranks it. `placement`: the
 * open one.
 */
export function requestStop(
  record: AllocationRecord,
  request: StopRequest,
  placement: PlacementRecord | null,
): AllocationRecord {
  if (record.stopRequest !== null || (record.outcome !== null && !record.outcome.again)) return record;
  const outcome = record.outcome === null ? null : outcomeOfStop(request, request.at);
  const { at, by, reason } = request;
  const { tasks, lone } = groupOfRun(record);
  // In a group each task gets its own event when its stop begins.
  const timeouts = lone
    ? tasks.map((task) => ({ kill_timeout: formatDuration(killTimeoutOf(task, placement)) }))
    : [];
  const details = { by, kill_reason: reason, ...timeouts[0] };
  return addEvent({ ...record, stopRequest: request, outcome }, "Killing", at, reasonOf(request), {
    details,
  });
}

/**
 * All tasks of the open epoch are dead. The outcome is stored at once. The epoch closes when the last log
 * bytes and the data of a sticky run are stored or given up. Then the run ends, or is placed again.
 */
export function conclude(
  state: AllocationState,
  before: AllocationRecord,
  placement: PlacementRecord,
  now: Instant,
): AllocationState {
  const { epoch, worker } = placement;
  const view = groupView(before);
  const failedAt = failTime(before, now);
  const outcome = before.outcome ?? outcomeOf(view, failedAt, now);
  const record = before.outcome === null ? { ...before, outcome } : before;
  const attempts = record.tasks.flatMap((task) => task.attempts.filter((one) => one.epoch === epoch));
  const complete = attempts.every(({ id }) => logsComplete(record, id));
  const waits = !complete && record.forced === undefined && now < lastByteBy(record, outcome);
  if (waits || isSavingData(record, now)) return { ...state, record };
  const cause = view.hostStop === "interruption" ? "interruption" : undefined;
  const closed = closePlacement(record, placement, "gone", { at: now, now }, cause);
  const replaced = outcome.again ? reschedule(closed, worker, failedAt, now) : null;
  if (replaced !== null) return { ...state, memo: { ...state.memo, placement: null }, record: replaced };
  return { ...state, record: finish(closed, outcome, now) };
}

/**
 * The worker says that the placement is over (rule R2). What follows depends on what may have been started.
 */
export function foldEnded(state: AllocationState, ended: Ended, now: Instant): AllocationState {
  const { record, memo } = state;
  if (record === null || record.ended || ended.epoch !== record.endedEpoch + 1) return state;
  const placement = openPlacement(state) ?? newPlacement(ended.worker, ended.epoch, now);
  if (placement.worker !== ended.worker) return state;
  const at = Math.max(placement.from, Math.min(now, ended.at));
  const closed = closePlacement(record, placement, ended.how, { at, now }, ended.cause);
  const next = { ...state, memo: { ...memo, placement: null } };
  const failedAt = failTime(record, at);
  const again = () => reschedule(closed, ended.worker, failedAt, now);
  if (record.outcome !== null)
    return { ...next, record: (record.outcome.again && again()) || finish(closed, record.outcome, now) };
  const [stuck] = givenUpKills(record);
  if (stuck !== undefined) return { ...next, record: finish(closed, outcomeOfGivenUpKill(stuck, at), now) };
  if (record.stopRequest !== null) {
    const end = Math.max(failedAt, record.stopRequest.at);
    return { ...next, record: finish(closed, outcomeOfStop(record.stopRequest, end, now), now) };
  }
  if (!ended.held || ended.how === "refused") return { ...next, record: freshEpoch(closed) };
  return {
    ...next,
    record: again() ?? finish(...endOfLoss(record, closed, placement, { ...ended, at }, now), now),
  };
}

/**
 * The end of a run whose machine was lost and that is not placed again. After its time limit, the run has
 * timed out: nobody can say whether its command ended before.
 */
function endOfLoss(
  record: AllocationRecord,
  closed: AllocationRecord,
  placement: PlacementRecord,
  ended: Ended & { at: Instant },
  now: Instant,
): [AllocationRecord, Outcome] {
  const deadline = deadlineOf(record, placement.from);
  const timedOut = deadline !== undefined && ended.at >= deadline && uploadingAttempt(record) === undefined;
  if (!timedOut) return [closed, outcomeOfLoss(record, ended, ended.at, now)];
  const over = timeIsOver(record, deadline);
  return [requestStop(closed, over, placement), outcomeOfStop(over, ended.at, now)];
}

/** Ends a run that was to stop and has no placement, as its pool has confirmed. */
export function finishWithdrawn(
  record: AllocationRecord,
  request: StopRequest,
  now: Instant,
): AllocationRecord {
  const attempts = record.tasks.flatMap((task) => task.attempts);
  const ends = attempts.filter(({ epoch }) => epoch === record.endedEpoch);
  const at = Math.max(request.at, ...ends.map(({ finishedAt }) => finishedAt ?? 0));
  return finish(record, outcomeOfStop(request, at, now), now);
}

/**
 * When the open epoch failed: when its last task died. A task without an end counts as dead at `at`
 * (tasks.md#never-ran, restart.md#fail-time).
 */
function failTime({ tasks }: AllocationRecord, at: Instant): Instant {
  return Math.max(...tasks.map(({ dead }) => dead?.at ?? at));
}

/** Ends the run: the outcome is final, and no epoch is open (rule R3). */
function finish(record: AllocationRecord, outcome: Outcome, now: Instant): AllocationRecord {
  let noted = record;
  const attempts = record.tasks.flatMap((task) => task.attempts);
  if (attempts.some((attempt) => !logsComplete(record, attempt.id))) {
    noted = addEvent(noted, "Log Truncated", now, "the last bytes of the logs did not arrive before the end");
  }
  const error = attempts.find(({ killError }) => killError !== null)?.killError ?? null;
  if ((record.stopRequest !== null && hadToEnd(record)) || error !== null) {
    const text = `all of it has ended${error === null ? "" : `, with an error: ${error}`}`;
    noted = addEvent(noted, "Killed", now, text, { details: killDetails(record, error) });
  }
  // A machine's end and its attempts' ends are timed by different clocks.
  const at = Math.max(outcome.at, ...attempts.map(({ finishedAt }) => finishedAt ?? 0));
  return { ...noted, outcome: at === outcome.at ? outcome : { ...outcome, at }, ended: true };
}

/**
 * Whether the request to stop ended anything: a task in its restart delay, or one that never started, had
 * nothing to kill.
 */
function hadToEnd(record: AllocationRecord): boolean {
  return record.tasks.some((known) => {
    const present = attemptOf(record, known, record.endedEpoch);
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
