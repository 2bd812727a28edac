// What have time and the state of the tasks brought about, whatever the event was?
import type { Instant } from "../../shared/machine.ts";
import { conclude, wish } from "./end.ts";
import {
  type AllocationRecord,
  type AllocationState,
  openPlacement,
  type PlacementRecord,
  type Wish,
} from "./state.ts";
import { settleGroup } from "./tasks/group.ts";
import { groupView, type Member, mayBeOrdered } from "./tasks/tasks.ts";
import { deadlineOf, queueDeadline, timeIsOver } from "./time/time-limits.ts";
import { withPoststopOver } from "./user/hurry.ts";

/** The run after what follows from what is stored, and from the time. */
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
  const isDead = groupView(next).members.every((one) => one.state === "dead");
  return isDead ? conclude(state, next, placement, now) : { ...state, record: next };
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
  const { epoch, from } = placement;
  const attempts = record.tasks.flatMap((task) => task.attempts);
  const ended = attempts.filter((one) => one.epoch === epoch && one.timedOut).map(({ id }) => id);
  if (ended.length === 0 || record.wish !== null) return record;
  if (wasToEnd(record, placement, new Set(ended), now)) return record;
  return wish(record, timeIsOver(record, Math.min(deadlineOf(record, from) ?? now, now)), placement);
}

/** Whether the group would have been stopped if these attempts had not come to their ends. */
function wasToEnd(
  record: AllocationRecord,
  placement: PlacementRecord,
  ended: Set<string>,
  now: Instant,
): boolean {
  const { members } = groupView(record);
  const posts = members.filter(({ task }) => task.hook === "poststop");
  if (posts.some(({ known }) => known.attempts.some(({ id }) => ended.has(id)))) return false;
  const tasks = record.tasks.map((task) => ({
    ...task,
    attempts: task.attempts.map((one) => (ended.has(one.id) ? { ...one, state: "stopping" as const } : one)),
  }));
  return settleGroup({ ...record, tasks }, placement, now).kill !== undefined;
}

/** What time has decided about a run that has no place: there no host can. */
function wishOfWait(state: AllocationState, now: Instant): Wish | null {
  const { record } = state;
  if (record === null) return null;
  const deadline = deadlineOf(record, null);
  const queued = queueDeadline(state);
  const over = deadline !== undefined && now >= deadline;
  const givenUp = queued !== undefined && now >= queued && queued < (over ? deadline : Infinity);
  if (givenUp) {
    const reason = `no place was found within the queueTimeout of ${record.spec.queueTimeout}`;
    return { state: "failed", at: queued, reason, by: "drover", failure: "queue_timeout" };
  }
  return over ? timeIsOver(record, Math.max(deadline, record.waitingSince)) : null;
}

/**
 * The wish of a time limit that was reached while the run had a place and nothing of it was with the host:
 * all that is left of it waits for this control plane, for the end of a delay for example.
 */
function wishBetweenTasks(record: AllocationRecord, { from }: PlacementRecord, now: Instant): Wish | null {
  const deadline = deadlineOf(record, from);
  if (record.wish !== null || deadline === undefined || now < deadline) return null;
  const view = groupView(record);
  const left = view.members.filter(({ state }) => state !== "dead");
  const waits = (one: Member) => one.attempt === undefined && !mayBeOrdered(view, one, now);
  const again = record.outcome?.again === true; // only its logs are waited for
  if ((left.length === 0 && !again) || !left.every(waits)) return null;
  return timeIsOver(record, Math.min(now, Math.max(deadline, ...view.members.map(({ deadAt }) => deadAt))));
}
