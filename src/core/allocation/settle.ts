// What have time and the state of the tasks brought about, whatever the event was?
import type { Instant } from "../../shared/machine.ts";
import { conclude, wish } from "./end.ts";
import { type AllocationRecord, type AllocationState, openPlacement, type PlacementRecord } from "./state.ts";
import { settleGroup } from "./tasks/group.ts";
import { groupView } from "./tasks/tasks.ts";
import {
  timedOutAttempts,
  timeIsOver,
  timeOverAt,
  wishBetweenTasks,
  wishOfWait,
} from "./time/time-limits.ts";
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
  const ended = timedOutAttempts(record, placement.epoch).map(({ id }) => id);
  if (ended.length === 0 || record.wish !== null) return record;
  if (wasToEnd(record, placement, new Set(ended), now)) return record;
  return wish(record, timeIsOver(record, timeOverAt(record, placement, now)), placement);
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
