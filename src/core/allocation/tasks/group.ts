import { formatDuration } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { Group, GroupTask } from "../../spec.ts";
import { killTimeoutOf } from "../placements/placement.ts";
import { addEvent } from "../read/events.ts";
import { isHostEnding, reactionText, whyStopped } from "../read/why-stopped.ts";
import type { AllocationRecord, PlacementRecord } from "../state.ts";
import { endTask } from "./attempt-end.ts";
import { hasTurn, reachedStage, reactionOf } from "./lifecycle.ts";
import {
  attemptOf,
  groupOfRun,
  isKilledNow,
  isOver,
  isStopping,
  mayBeOrdered,
  recordOf,
  stageOf,
  viewsOf,
  withTask,
} from "./tasks.ts";

/**
 * Brings the group of the open epoch to where it belongs, from what is stored alone: ended attempts are
 * decided on, the group reacts to its dead, tasks get their turn to be stopped, gates open. It is repeated
 * until nothing changes, so it does not matter in which order things became known.
 */
export function settleGroup(
  before: AllocationRecord,
  placement: PlacementRecord,
  now: Instant,
): AllocationRecord {
  const group = groupOfRun(before);
  let record = before;
  for (;;) {
    const next = step(record, group, placement, now);
    if (next === record) return record;
    record = next;
  }
}

function step(
  before: AllocationRecord,
  group: Group,
  placement: PlacementRecord,
  now: Instant,
): AllocationRecord {
  let record = before;
  for (const task of group.tasks) record = settleTask(record, group, task, placement, now);
  record = react(record, group, placement, now);
  return advance(record, group, placement);
}

function settleTask(
  record: AllocationRecord,
  group: Group,
  task: GroupTask,
  placement: PlacementRecord,
  now: Instant,
): AllocationRecord {
  const known = recordOf(record, task);
  if (known.dead !== undefined) return record;
  const attempt = attemptOf(record, known, placement.epoch);
  if (attempt !== undefined && isOver(attempt)) return endTask(record, group, task, attempt, placement, now);
  if (!isStopping(record, task)) return record;
  const views = viewsOf(record, group, placement.epoch);
  // A kill before the start: the task is dead without more ado (tasks.md#change-9).
  if (attempt === undefined && !mayBeOrdered(record, task, views, now))
    return withTask(record, task, { dead: { at: now, how: "killed" } });
  if (known.stopFrom !== undefined || now < turnOf(record, group, task)) return record;
  const waits = !isRemoved(record, task) && !isHostEnding(record) && !isKilledNow(record, task);
  if (waits && !hasTurn(task, views)) return record;
  return beginStop(record, group, task, placement, now);
}

function turnOf(record: AllocationRecord, group: Group, task: GroupTask): Instant {
  const alone = task.hook === "poststop" || isRemoved(record, task) || isHostEnding(record);
  return alone || isKilledNow(record, task) ? 0 : turnsFrom(record, group);
}

function isRemoved(record: AllocationRecord, task: GroupTask): boolean {
  return recordOf(record, task).removed !== undefined;
}

/** When the tasks of a group get their turns: after the group's shutdown delay, once (tasks.md#order-1). */
export function turnsFrom({ wish, kill }: AllocationRecord, group: Group): Instant {
  return Math.min(wish?.at ?? Infinity, kill?.at ?? Infinity) + group.shutdownDelayMs;
}

function beginStop(
  record: AllocationRecord,
  group: Group,
  task: GroupTask,
  placement: PlacementRecord,
  now: Instant,
): AllocationRecord {
  let next = withTask(record, task, { stopFrom: now });
  const { name, shutdownDelayMs } = task;
  if (!group.lone || record.wish === null) {
    const reason = whyStopped(record);
    const timeout = isKilledNow(record, task) ? "0s" : formatDuration(killTimeoutOf(task, placement));
    const details = { kill_timeout: timeout, kill_reason: reason };
    next = addEvent(next, "Killing", now, reason, { task: name, details });
  }
  if (shutdownDelayMs === 0 || isKilledNow(record, task)) return next;
  const text = `waiting ${formatDuration(shutdownDelayMs)} before it is stopped`;
  return addEvent(next, "Waiting for shutdown delay", now, text, { task: name });
}

function react(
  record: AllocationRecord,
  group: Group,
  { epoch }: PlacementRecord,
  now: Instant,
): AllocationRecord {
  if (record.wish !== null || record.kill !== undefined || isHostEnding(record)) return record;
  const views = viewsOf(record, group, epoch);
  const reaction = reactionOf(views);
  if (reaction === null) return record;
  let next: AllocationRecord = { ...record, kill: { ...reaction, at: now } };
  const failed = reaction.type === "Sibling Task Failed";
  const details: Record<string, string> = failed ? { failed_sibling: reaction.task ?? "" } : {};
  for (const { task, state } of views) {
    if (state === "dead" || task.hook === "poststop") continue;
    next = addEvent(next, reaction.type, now, reactionText(reaction), { task: task.name, details });
  }
  return next;
}

/** Opens the next gates. Not while the group is being stopped: what was never ordered must stay so. */
function advance(record: AllocationRecord, group: Group, { epoch }: PlacementRecord): AllocationRecord {
  if (record.wish !== null || record.kill !== undefined || isHostEnding(record)) return record;
  const views = viewsOf(record, group, epoch);
  const stage = stageOf(record, views);
  const reached = reachedStage(stage, views);
  return reached === stage ? record : { ...record, stage: reached };
}
