// What follows for the group of the open epoch from its record: which ends are decided, which tasks are
// stopped, which gates open?
import { formatDuration } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import { killTimeoutOf } from "../placements/placement.ts";
import { addEvent } from "../read/events.ts";
import { reactionText, whyStopped } from "../read/why-stopped.ts";
import type { AllocationRecord, PlacementRecord } from "../state.ts";
import { endTask } from "./attempt-end.ts";
import { hasTurn, reachedStage, reactionOf } from "./lifecycle.ts";
import { type GroupView, groupView, type Member, mayBeOrdered, withTask } from "./tasks.ts";

/**
 * Derives from the record alone what must follow: ended attempts are decided on, the group reacts to dead
 * tasks, tasks get their turn to stop, gates open. Repeated until nothing changes, so that the order in which
 * facts became known does not matter.
 */
export function settleGroup(
  before: AllocationRecord,
  placement: PlacementRecord,
  now: Instant,
): AllocationRecord {
  let record = before;
  for (;;) {
    const next = settleOnce(record, placement, now);
    if (next === record) return record;
    record = next;
  }
}

function settleOnce(before: AllocationRecord, placement: PlacementRecord, now: Instant): AllocationRecord {
  let record = before;
  for (const { task } of groupView(before).members) {
    const view = groupView(record);
    const one = view.members.find((member) => member.task.name === task.name);
    if (one !== undefined) record = settleTask(view, one, placement, now);
  }
  return openGates(react(record, now));
}

function settleTask(
  view: GroupView,
  one: Member,
  placement: PlacementRecord,
  now: Instant,
): AllocationRecord {
  const { record, members } = view;
  const { task, known, phase, isStopping } = one;
  if (phase.kind === "dead") return record;
  if (phase.kind === "over") return endTask(view, one, phase.attempt, placement, now);
  if (!isStopping) return record;
  // A task that was never ordered is dead at once (tasks.md#change-9).
  if (one.attempt === undefined && !mayBeOrdered(view, one, now))
    return withTask(record, task, { dead: { at: now, how: "killed" } });
  if (known.stopFrom !== undefined) return record;
  const isAlone = known.removed !== undefined || view.hostStop !== undefined || one.isKilledNow;
  // Poststop tasks are not stopped in turns.
  const isDelayed = !isAlone && task.hook !== "poststop" && now < turnsFrom(view);
  if (isDelayed || (!isAlone && !hasTurn(task, members))) return record;
  return beginStop(view, one, placement, now);
}

/** When the turns to stop begin: after the group's shutdown delay (tasks.md#order-1). */
export function turnsFrom({ record: { stopRequest, kill }, group }: GroupView): Instant {
  return Math.min(stopRequest?.at ?? Infinity, kill?.at ?? Infinity) + group.shutdownDelayMs;
}

function beginStop(
  { record, group }: GroupView,
  { task, isKilledNow }: Member,
  placement: PlacementRecord,
  now: Instant,
): AllocationRecord {
  let next = withTask(record, task, { stopFrom: now });
  const { name, shutdownDelayMs } = task;
  if (!group.lone || record.stopRequest === null) {
    const reason = whyStopped(record);
    const timeout = isKilledNow ? "0s" : formatDuration(killTimeoutOf(task, placement));
    const details = { kill_timeout: timeout, kill_reason: reason };
    next = addEvent(next, "Killing", now, reason, { task: name, details });
  }
  if (shutdownDelayMs === 0 || isKilledNow) return next;
  const text = `waiting ${formatDuration(shutdownDelayMs)} before it is stopped`;
  return addEvent(next, "Waiting for shutdown delay", now, text, { task: name });
}

/** Whether the whole group is being stopped. */
function isEnding({ record: { stopRequest, kill }, hostStop }: GroupView): boolean {
  return stopRequest !== null || kill !== undefined || hostStop !== undefined;
}

function react(record: AllocationRecord, now: Instant): AllocationRecord {
  const view = groupView(record);
  const reaction = isEnding(view) ? null : reactionOf(view.members);
  if (reaction === null) return record;
  let next: AllocationRecord = { ...record, kill: { ...reaction, at: now } };
  const failed = reaction.type === "Sibling Task Failed";
  const details: Record<string, string> = failed ? { failed_sibling: reaction.task ?? "" } : {};
  for (const { task, state } of view.members) {
    if (state === "dead" || task.hook === "poststop") continue;
    next = addEvent(next, reaction.type, now, reactionText(reaction), { task: task.name, details });
  }
  return next;
}

/** Opens the next gates, unless the group is being stopped: a task that was never ordered must stay so. */
function openGates(record: AllocationRecord): AllocationRecord {
  const view = groupView(record);
  if (isEnding(view)) return record;
  const reached = reachedStage(view.stage, view.members);
  return reached === view.stage ? record : { ...record, stage: reached };
}
