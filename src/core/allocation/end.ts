// How does a placement end, and a run with it? All tasks are dead, or the worker says that the placement is
// over, or time or somebody wants the end.
import { formatDuration } from "../../shared/duration.ts";
import type { Instant } from "../../shared/machine.ts";
import type { Ended } from "../messages.ts";
import { givenUpKills, outcomeOf, outcomeOfGivenUpKill, outcomeOfLoss, outcomeOfWish } from "./outcome.ts";
import { lastByteBy, logsComplete } from "./output/logs.ts";
import { uploadingAttempt } from "./output/outputs.ts";
import { closePlacement, freshEpoch, killTimeoutOf, newPlacement } from "./placements/placement.ts";
import { rescheduled } from "./placements/reschedule.ts";
import { isSavingData } from "./placements/sticky.ts";
import { addEvent } from "./read/events.ts";
import { reasonOf } from "./read/why-stopped.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type Outcome,
  openPlacement,
  type PlacementRecord,
  type Wish,
} from "./state.ts";
import { attemptOf, groupOfRun, groupView, isOver } from "./tasks/tasks.ts";
import { deadlineOf, timeIsOver } from "./time/time-limits.ts";

/**
 * Stores a wish, once: the first one decides, and an exit that is stored already outranks it. `placement`:
 * the open one.
 */
export function wish(
  record: AllocationRecord,
  wanted: Wish,
  placement: PlacementRecord | null,
): AllocationRecord {
  if (record.wish !== null || (record.outcome !== null && !record.outcome.again)) return record;
  const outcome = record.outcome === null ? null : outcomeOfWish(wanted, wanted.at);
  const { at, by, reason } = wanted;
  const { tasks, lone } = groupOfRun(record);
  // The tasks of a group are told one by one, when it is their turn.
  const timeouts = lone
    ? tasks.map((task) => ({ kill_timeout: formatDuration(killTimeoutOf(task, placement)) }))
    : [];
  const details = { by, kill_reason: reason, ...timeouts[0] };
  return addEvent({ ...record, wish: wanted, outcome }, "Killing", at, reasonOf(wanted), { details });
}

/**
 * All tasks of the open epoch are dead. The outcome is stored at once; the epoch is closed when the last
 * bytes of the logs and the data of a sticky run are stored, or given up. Then the run has ended, or is
 * placed again.
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
  const replaced = outcome.again ? rescheduled(closed, worker, failedAt, now) : null;
  if (replaced !== null) return { ...state, memo: { ...state.memo, placement: null }, record: replaced };
  return { ...state, record: finish(closed, outcome, now) };
}

/**
 * The worker's word that the placement is over (rule R2): what follows depends on what can have been started.
 */
export function foldEnded(state: AllocationState, ended: Ended, now: Instant): AllocationState {
  const { record, memo } = state;
  if (record === null || record.ended || ended.epoch !== record.endedEpoch + 1) return state;
  const placement = openPlacement(state) ?? newPlacement(ended.worker, ended.epoch, now);
  if (placement.worker !== ended.worker) return state;
  const at = Math.max(placement.from, Math.min(now, ended.at ?? now));
  const closed = closePlacement(record, placement, ended.how, { at, now }, ended.cause);
  const next = { ...state, memo: { ...memo, placement: null } };
  const failedAt = failTime(record, at);
  const again = () => rescheduled(closed, ended.worker, failedAt, now);
  if (record.outcome !== null)
    return { ...next, record: (record.outcome.again && again()) || finish(closed, record.outcome, now) };
  const [stuck] = givenUpKills(record);
  if (stuck !== undefined) return { ...next, record: finish(closed, outcomeOfGivenUpKill(stuck, at), now) };
  if (record.wish !== null) {
    const end = Math.max(failedAt, record.wish.at);
    return { ...next, record: finish(closed, outcomeOfWish(record.wish, end, now), now) };
  }
  if (!ended.held || ended.how === "refused") return { ...next, record: freshEpoch(closed) };
  return {
    ...next,
    record: again() ?? finish(...lost(record, closed, placement, { ...ended, at }, now), now),
  };
}

/**
 * The end of a run whose machine was lost, and that is not placed again. If the machine was lost after the
 * run's time limit, the run has timed out: nobody is left who could say whether its command ended before.
 */
function lost(
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
  return [wish(closed, over, placement), outcomeOfWish(over, ended.at, now)];
}

/** The end of a run that was to end and has no place: its pool has confirmed that. */
export function withdrawn(record: AllocationRecord, wanted: Wish, now: Instant): AllocationRecord {
  const attempts = record.tasks.flatMap((task) => task.attempts);
  const ends = attempts.filter(({ epoch }) => epoch === record.endedEpoch);
  const at = Math.max(wanted.at, ...ends.map(({ finishedAt }) => finishedAt ?? 0));
  return finish(record, outcomeOfWish(wanted, at, now), now);
}

/**
 * When the open epoch failed, or is to be taken to have: the end of its last task, and `at` if one has none
 * (tasks.md#never-ran, restart.md#fail-time).
 */
function failTime({ tasks }: AllocationRecord, at: Instant): Instant {
  return Math.max(...tasks.map(({ dead }) => dead?.at ?? at));
}

/** The end: the outcome is final, and no epoch is open (rule R3). */
function finish(record: AllocationRecord, outcome: Outcome, now: Instant): AllocationRecord {
  let noted = record;
  const attempts = record.tasks.flatMap((task) => task.attempts);
  if (attempts.some((attempt) => !logsComplete(record, attempt.id))) {
    noted = addEvent(noted, "Log Truncated", now, "the last bytes of the logs did not arrive before the end");
  }
  const error = attempts.find(({ killError }) => killError !== null)?.killError ?? null;
  if ((record.wish !== null && hadToEnd(record)) || error !== null) {
    const text = `everything of it has ended${error === null ? "" : `, with trouble: ${error}`}`;
    noted = addEvent(noted, "Killed", now, text, { details: killDetails(record, error) });
  }
  // The end of a machine is told by another clock than the ends of its attempts.
  const at = Math.max(outcome.at, ...attempts.map(({ finishedAt }) => finishedAt ?? 0));
  return { ...noted, outcome: at === outcome.at ? outcome : { ...outcome, at }, ended: true };
}

/**
 * Whether anything ran that the wish to end the run has ended: a task in its restart delay, or one that was
 * never started, has nothing to kill.
 */
function hadToEnd(record: AllocationRecord): boolean {
  return record.tasks.some((known) => {
    const present = attemptOf(record, known, record.endedEpoch);
    if (present === undefined || present.startedAt === null) return false;
    return known.dead?.how === "killed" || !isOver(present);
  });
}

/** The details of `Killed` (tasks.md#event-killed): why, and that its host had given up killing it. */
function killDetails({ wish: wanted }: AllocationRecord, error: string | null): Record<string, string> {
  const reason: Record<string, string> = wanted === null ? {} : { kill_reason: wanted.reason };
  return error === null ? reason : { ...reason, kill_error: error };
}
