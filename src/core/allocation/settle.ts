import { formatDuration } from "../../shared/duration.ts";
import { HEARD_AT_ONCE_MS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import type { GroupTask } from "../spec.ts";
import { interruption, outcomeOf, outcomeOfWish } from "./outcome.ts";
import { lastByteBy, logsComplete } from "./output/logs.ts";
import { closePlacement, killTimeoutOf } from "./placements/placement.ts";
import { mayReschedule, rescheduled } from "./placements/reschedule.ts";
import { isSavingData } from "./placements/sticky.ts";
import { addEvent } from "./read/events.ts";
import { reasonOf } from "./read/why-stopped.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  type Outcome,
  openPlacement,
  type PlacementRecord,
  type Wish,
} from "./state.ts";
import { failTime } from "./tasks/fail-time.ts";
import { settleGroup } from "./tasks/group.ts";
import { attemptOf, groupOfRun, hostStopOf, isOver, recordOf, viewsOf } from "./tasks/tasks.ts";
import {
  timedOutAttempts,
  timeIsOver,
  timeOverAt,
  wishBetweenTasks,
  wishOfWait,
} from "./time/time-limits.ts";
import { withPoststopOver } from "./user/hurry.ts";

/** What time and the state of the tasks bring about, whatever the event was. */
export function settle(state: AllocationState, now: Instant): AllocationState {
  const { record } = state;
  if (record === null || record.ended) return state;
  const placement = openPlacement(state);
  if (placement === null) {
    const late = wishOfWait(state, now);
    return { ...state, record: asksForPlace(late === null ? record : wish(record, late, null), now) };
  }
  let next = settleGroup(withPoststopOver(withTimeOver(record, placement, now), now), placement, now);
  const late = wishBetweenTasks(next, placement, now);
  if (late !== null) next = settleGroup(wish(next, late, placement), placement, now);
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
  if (!complete && record.forced === undefined && now < lastByteBy(record, outcome))
    return { ...state, record };
  if (isSavingData(record, now)) return { ...state, record };
  const cause = hostStopOf(record, epoch) === "interruption" ? "interruption" : undefined;
  const closed = closePlacement(record, placement, "gone", { at: now, now }, cause);
  const anew = outcome.again ? rescheduled(closed, worker, failedAt, now) : null;
  if (anew !== null) return { ...state, memo: { ...state.memo, placement: null }, record: anew };
  return { ...state, record: finish(closed, outcome, now) };
}

function outcomeNow(record: AllocationRecord, epoch: number, failedAt: Instant, now: Instant): Outcome {
  const group = groupOfRun(record);
  const views = viewsOf(record, group, epoch);
  const at = Math.max(failedAt, record.wish?.at ?? 0, ...views.map(({ deadAt }) => deadAt));
  const outcome = heard(outcomeOf(record, group, views, epoch, at), now);
  const cut = interruption(record, group, views, epoch) !== undefined;
  const failed = record.wish === null && (cut || views.some((view) => view.failed));
  const again = failed && mayReschedule(group.reschedule, record.reschedules ?? [], failedAt);
  return again ? { ...outcome, again } : outcome;
}

/** An outcome that becomes known now. What counts from when it is known must not count from its end. */
export function heard(outcome: Outcome, now: Instant): Outcome {
  return now - outcome.at > HEARD_AT_ONCE_MS ? { ...outcome, heardAt: now } : outcome;
}

/** A run that is to be placed anew wants its place when the delay is over, unless it is to end. */
function asksForPlace(record: AllocationRecord, now: Instant): AllocationRecord {
  if (record.wish !== null || record.placeAt === undefined || now < record.placeAt) return record;
  return { ...record, placeAt: undefined, waitingSince: now };
}

/**
 * The host has ended a task because the time of the run is over: then it is over for the others, too. But not
 * if the group had come to its end before, by a leader or a failure: what was ended then would have been
 * anyway.
 */
function withTimeOver(record: AllocationRecord, placement: PlacementRecord, now: Instant): AllocationRecord {
  const ended = timedOutAttempts(record, placement.epoch);
  if (ended.length === 0 || record.wish !== null) return record;
  if (wasToEnd(record, placement, ended, now)) return record;
  return wish(record, timeIsOver(record, timeOverAt(record, placement, now)), placement);
}

/** Whether the group would have been stopped if these attempts had not come to their ends. */
function wasToEnd(
  record: AllocationRecord,
  placement: PlacementRecord,
  ended: AttemptRecord[],
  now: Instant,
): boolean {
  const ids = new Set(ended.map(({ id }) => id));
  const isPoststop = (task: GroupTask) => task.hook === "poststop";
  const held = groupOfRun(record)
    .tasks.filter(isPoststop)
    .map(({ name }) => name);
  if (
    record.tasks.some(({ name, attempts }) => held.includes(name) && attempts.some(({ id }) => ids.has(id)))
  )
    return false;
  const tasks = record.tasks.map((task) => ({
    ...task,
    attempts: task.attempts.map((one) => (ids.has(one.id) ? { ...one, state: "stopping" as const } : one)),
  }));
  return settleGroup({ ...record, tasks }, placement, now).kill !== undefined;
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
  // The end of a machine is told by another clock than the ends of its attempts.
  const last = Math.max(...attempts.map(({ finishedAt }) => finishedAt ?? 0), 0);
  const final = outcome === null || outcome.at >= last ? outcome : { ...outcome, at: last };
  return { ...noted, outcome: final, ended: true };
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

/** The details of `Killed` (tasks.md#event-killed): why, and that its host had given up killing it. */
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
  return addEvent({ ...record, wish: wanted, outcome }, "Killing", at, reasonOf(wanted), { details });
}
