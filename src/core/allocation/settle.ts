import { durationMs, formatDuration } from "../duration.ts";
import type { Instant } from "../machine.ts";
import { addEvent } from "./events.ts";
import { settleGroup } from "./group.ts";
import { withPoststopOver } from "./hurry.ts";
import { lastByteBy, logsComplete } from "./logs.ts";
import { deadlineOf } from "./orders.ts";
import { interruption, outcomeOf, outcomeOfWish } from "./outcome.ts";
import { closePlacement, killTimeoutOf } from "./placement.ts";
import { mayReschedule, rescheduled } from "./reschedule.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type Outcome,
  openPlacement,
  type PlacementRecord,
  type Wish,
} from "./state.ts";
import { isSavingData } from "./sticky.ts";
import { attemptOf, groupOfRun, hostStopOf, isOver, recordOf, viewsOf } from "./tasks.ts";

/** What time and the state of the tasks bring about, whatever the event was. */
export function settle(state: AllocationState, now: Instant): AllocationState {
  const { record } = state;
  if (record === null || record.ended) return state;
  const placement = openPlacement(state);
  const late = wishOfTime(state, now);
  let next = late === null ? record : wish(record, late, placement);
  if (placement === null) return { ...state, record: asksForPlace(next, now) };
  next = settleGroup(withPoststopOver(withTimeOver(next, placement, now), now), placement, now);
  const views = viewsOf(next, groupOfRun(next), placement.epoch);
  if (views.some((view) => view.state !== "dead")) return { ...state, record: next };
  return conclude(state, next, placement, now);
}

/**
 * All tasks of the open epoch are dead. The outcome is stored at once; the epoch is closed when the last
 * bytes of the logs and the data of a sticky run are stored, or given up. Then the run has ended, or is
 * placed again.
 */
function conclude(
  state: AllocationState,
  before: AllocationRecord,
  placement: PlacementRecord,
  now: Instant,
): AllocationState {
  const { epoch, worker } = placement;
  const failedAt = failTime(before, now);
  const outcome = before.outcome ?? outcomeNow(before, epoch, failedAt, now);
  const record = before.outcome === null ? { ...before, outcome } : before;
  const ids = record.tasks.flatMap((task) => task.attempts.filter((one) => one.epoch === epoch));
  const complete = ids.every(({ id }) => logsComplete(record, id));
  if (!complete && record.forced === undefined && now < lastByteBy(record, outcome.at))
    return { ...state, record };
  if (isSavingData(record, now)) return { ...state, record };
  const cause = hostStopOf(record, epoch) === "interruption" ? "interruption" : undefined;
  const closed = closePlacement(record, placement, "gone", now, cause);
  const anew = outcome.again ? rescheduled(closed, worker, failedAt, now) : null;
  if (anew !== null) return { ...state, memo: { ...state.memo, placement: null }, record: anew };
  return { ...state, record: finish(closed, outcome, now) };
}

function outcomeNow(record: AllocationRecord, epoch: number, failedAt: Instant, now: Instant): Outcome {
  const group = groupOfRun(record);
  const views = viewsOf(record, group, epoch);
  const outcome = outcomeOf(record, group, views, epoch, now);
  const cut = interruption(record, group, views, epoch) !== undefined;
  const failed = record.wish === null && (cut || views.some((view) => view.failed));
  const again = failed && mayReschedule(group.reschedule, record.reschedules ?? [], failedAt);
  return again ? { ...outcome, again } : outcome;
}

/** A run that is to be placed anew wants its place when the delay is over, unless it is to end. */
function asksForPlace(record: AllocationRecord, now: Instant): AllocationRecord {
  if (record.wish !== null || record.placeAt === undefined || now < record.placeAt) return record;
  return { ...record, placeAt: undefined, waitingSince: now };
}

/** The host has stopped a task because the time of the run is over: then it is over for the others, too. */
function withTimeOver(record: AllocationRecord, placement: PlacementRecord, now: Instant): AllocationRecord {
  const { epoch } = placement;
  const attempts = record.tasks.flatMap((task) => task.attempts).filter((one) => one.epoch === epoch);
  if (record.tasks.length === 1 || !attempts.some((one) => one.timedOut)) return record;
  return wish(record, timeIsOver(record, now), placement);
}

function timeIsOver({ spec }: AllocationRecord, now: Instant): Wish {
  const reason = `the time limit of ${spec.timeout} was reached`;
  return { state: "timedout", at: now, reason, by: "drover", failure: null };
}

function wishOfTime(state: AllocationState, now: Instant): Wish | null {
  const { record } = state;
  if (record === null) return null;
  const deadline = deadlineOf(record, openPlacement(state)?.from ?? null);
  if (deadline !== undefined && now >= deadline) return timeIsOver(record, now);
  const queued = queueDeadline(state);
  if (queued !== undefined && now >= queued) {
    const reason = `no place was found within the queueTimeout of ${record.spec.queueTimeout}`;
    return { state: "failed", at: now, reason, by: "drover", failure: "queue_timeout" };
  }
  return null;
}

/** When a run that waits for a place is given up. */
export function queueDeadline(state: AllocationState): Instant | undefined {
  const { record } = state;
  if (record?.spec.queueTimeout === undefined || openPlacement(state) !== null) return undefined;
  if (record.placeAt !== undefined) return undefined;
  return record.waitingSince + durationMs(record.spec.queueTimeout);
}

/** The end: the outcome is final, and no epoch is open (rule R3). */
export function finish(
  record: AllocationRecord,
  outcome: AllocationRecord["outcome"],
  now: Instant,
): AllocationRecord {
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
  return { ...noted, outcome, ended: true };
}

/**
 * Whether anything ran that the wish to end the run has ended: a task in its restart delay, or one that was
 * never started, has nothing to kill.
 */
function hadToEnd(record: AllocationRecord): boolean {
  const { endedEpoch } = record;
  return groupOfRun(record).tasks.some((task) => {
    const known = recordOf(record, task);
    const present = attemptOf(record, known, endedEpoch);
    if (present === undefined || present.startedAt === null) return false;
    return known.dead?.how === "killed" || !isOver(present);
  });
}

/** Nomad's details of `Killed` (`nomad.md` §1.4): why, and that its host had given up killing it. */
function killDetails({ wish }: AllocationRecord, error: string | null): Record<string, string> {
  const reason: Record<string, string> = wish === null ? {} : { kill_reason: wish.reason };
  return error === null ? reason : { ...reason, kill_error: error };
}

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
  return addEvent({ ...record, wish: wanted, outcome }, "Killing", at, reason, { details });
}

/**
 * When the open epoch failed, or is to be taken to have: the end of its last task, and now if one has none
 * (`nomad.md` §2.2, §7.3).
 */
export function failTime({ tasks }: AllocationRecord, now: Instant): Instant {
  return Math.max(...tasks.map(({ dead }) => dead?.at ?? now));
}
