// What follows from the time and from the state of the tasks, whatever the event was?
import type { Instant } from "../../shared/machine.ts";
import { conclude, requestStop } from "./end.ts";
import {
  type AllocationRecord,
  type AllocationState,
  openPlacement,
  type PlacementRecord,
  type StopRequest,
} from "./state.ts";
import { settleGroup } from "./tasks/group.ts";
import { groupView, type Member, mayBeOrdered } from "./tasks/tasks.ts";
import { deadlineOf, queueDeadline, timeIsOver } from "./time/time-limits.ts";
import { withPoststopOver } from "./user/hurry.ts";

/** The run after everything that follows from its record and the time. */
export function settle(state: AllocationState, now: Instant): AllocationState {
  const { record } = state;
  if (record === null || record.ended) return state;
  const placement = openPlacement(state);
  if (placement === null) {
    const late = timeoutOfWait(state, now);
    return { ...state, record: asksForPlace(late === null ? record : requestStop(record, late, null), now) };
  }
  let next = settleGroup(withPoststopOver(withTimeOver(record, placement, now), now), placement, now);
  const late = timeoutBetweenTasks(next, placement, now);
  if (late !== null) next = settleGroup(requestStop(next, late, placement), placement, now);
  const isDead = groupView(next).members.every((one) => one.state === "dead");
  return isDead ? conclude(state, next, placement, now) : { ...state, record: next };
}

/** A run that is to be placed again wants its placement once the delay is over, unless it is to stop. */
function asksForPlace(record: AllocationRecord, now: Instant): AllocationRecord {
  if (record.stopRequest !== null || record.placeAt === undefined || now < record.placeAt) return record;
  return { ...record, placeAt: undefined, waitingSince: now };
}

/**
 * If the host ended a task because of the run's time limit, the limit ends the other tasks, too, unless
 * the group was ending already, by a leader or a failure: then the task would have been stopped anyway.
 */
function withTimeOver(record: AllocationRecord, placement: PlacementRecord, now: Instant): AllocationRecord {
  const { epoch, from } = placement;
  const attempts = record.tasks.flatMap((task) => task.attempts);
  const ended = attempts.filter((one) => one.epoch === epoch && one.timedOut).map(({ id }) => id);
  if (ended.length === 0 || record.stopRequest !== null) return record;
  if (wasToEnd(record, placement, new Set(ended), now)) return record;
  return requestStop(record, timeIsOver(record, Math.min(deadlineOf(record, from) ?? now, now)), placement);
}

/** Whether the group would have been stopped without the ends of these attempts. */
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

/** Time limits of a run without a placement, which no host can enforce. */
function timeoutOfWait(state: AllocationState, now: Instant): StopRequest | null {
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
 * The time limit of a run that has a placement but nothing on its host: its remaining tasks wait for this
 * control plane, for instance in a restart delay.
 */
function timeoutBetweenTasks(
  record: AllocationRecord,
  { from }: PlacementRecord,
  now: Instant,
): StopRequest | null {
  const deadline = deadlineOf(record, from);
  if (record.stopRequest !== null || deadline === undefined || now < deadline) return null;
  const view = groupView(record);
  const left = view.members.filter(({ state }) => state !== "dead");
  const waits = (one: Member) => one.attempt === undefined && !mayBeOrdered(view, one, now);
  const again = record.outcome?.again === true; // only its logs are missing
  if ((left.length === 0 && !again) || !left.every(waits)) return null;
  return timeIsOver(record, Math.min(now, Math.max(deadline, ...view.members.map(({ deadAt }) => deadAt))));
}
