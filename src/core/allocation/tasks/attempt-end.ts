// What becomes of a task whose attempt has ended: is it done, failed, killed, or started again?
import { formatDuration } from "../../../shared/duration.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { jittered } from "../../jitter.ts";
import type { GroupTask } from "../../spec.ts";
import { outputsError } from "../output/outputs.ts";
import { addEvent } from "../read/events.ts";
import { whyStopped } from "../read/why-stopped.ts";
import type { AllocationRecord, AttemptRecord, PlacementRecord, TaskRecord } from "../state.ts";
import { type Cause, decideRestart, type RestartDecision, reasonText, restartsOnSuccess } from "./restart.ts";
import { type GroupView, type Member, withTask } from "./tasks.ts";

/** How many times in a row a task is restarted after an attempt whose end nobody saw. */
export const MAX_LOSSES_IN_A_ROW = 5;

/** The least delay before a task starts again after two lost attempts in a row. */
const LOSS_DELAY_MS: Millis = 1_000;

/** When an attempt ended, and when that is known: delays count from the end, but never end in the past. */
interface EndTimes {
  at: Instant;
  now: Instant;
}

/**
 * Decides what becomes of a task whose present attempt has ended (restart.md#the-decision,
 * restart.md#outcomes).
 */
export function endTask(
  view: GroupView,
  one: Member,
  attempt: AttemptRecord,
  placement: PlacementRecord,
  now: Instant,
): AllocationRecord {
  const { record } = view;
  const { task, known } = one;
  const cause = causeOf(one, attempt);
  const at = attempt.finishedAt ?? now;
  if (cause.kind === "lost" && task.restart.attempts > 0) return afterLoss(record, one, attempt, { at, now });
  const window = known.window ?? { start: placement.from, count: 0 };
  const onSuccess = restartsOnSuccess(task, record.spec.type ?? "batch");
  const input = { policy: task.restart, onSuccess, window, cause, attempt: attempt.id };
  const made = decideRestart(input, at);
  switch (made.decision) {
    case "killed":
      return endKilled(view, task, attempt, at);
    case "terminated":
      return withTask(record, task, { dead: { at, how: "terminated" }, ...windowToStore(known, made) });
    case "not_restarting":
      return endForGood(view, one, attempt, made, at);
    case "restarting":
      return startAgain(record, one, made, { at, now });
  }
}

function causeOf({ isStopping, restarting: isTriggered }: Member, attempt: AttemptRecord): Cause {
  const { timedOut, startError, exit } = attempt;
  // An exit while the task is being stopped is no failure and no reason to restart it
  // (decisions/tasks.md#exit-while-stopping).
  if (isStopping || timedOut) return { kind: "killed" };
  if (isTriggered === true) return { kind: "triggered" };
  if (startError !== null) return { kind: "start_error", recoverable: startError.recoverable ?? false };
  if (exit === null) return { kind: "lost" };
  const lost = outputsError(attempt) !== undefined;
  return { kind: "exit", successful: exit.code === 0 && exit.signal === null && !lost };
}

/** The window to store, once it counts anything: a task that ends at its first try stores none. */
function windowToStore(known: TaskRecord, { window }: RestartDecision): Partial<TaskRecord> {
  return window.count === 0 && known.window === undefined ? {} : { window };
}

function endKilled(
  { record: before, group }: GroupView,
  task: GroupTask,
  { killError, startedAt }: AttemptRecord,
  at: Instant,
): AllocationRecord {
  const record = withTask(before, task, { dead: { at, how: "killed" } });
  if (group.lone) return record; // the run's own end says it
  if (startedAt === null && killError === null) return record; // nothing of it ran
  const text = killError === null ? "it was stopped" : `it was stopped, with an error: ${killError}`;
  const error: Record<string, string> = killError === null ? {} : { kill_error: killError };
  const details = { kill_reason: whyStopped(record), ...error };
  return addEvent(record, "Killed", at, text, { task: task.name, details });
}

/**
 * The task has failed, with one exception: a single command without restarts ends with its exit
 * (api.md#lone).
 */
function endForGood(
  { record, group }: GroupView,
  { task, known }: Member,
  attempt: AttemptRecord,
  made: RestartDecision,
  at: Instant,
): AllocationRecord {
  const alone = group.lone && made.reason === "not_allowed";
  const lost = attempt.exit === null && attempt.startError === null;
  const done = alone && attempt.exit !== null && outputsError(attempt) === undefined;
  const how = lost ? "lost" : done ? "terminated" : "failed";
  const ended = withTask(record, task, { dead: { at, how }, ...windowToStore(known, made) });
  if (alone || made.reason === null) return ended;
  const text = reasonText(made.reason, task.restart);
  const details = { restart_reason: made.reason, fails_task: "true" };
  return addEvent(ended, "Not Restarting", at, `it is not started again: ${text}`, {
    task: task.name,
    details,
  });
}

function startAgain(
  record: AllocationRecord,
  { task, known, n }: Member,
  made: RestartDecision,
  { at, now }: EndTimes,
): AllocationRecord {
  const { delayMs, reason } = made;
  const next = withTask(record, task, {
    ...windowToStore(known, made),
    losses: 0,
    n: n + 1,
    startAt: at + delayMs > now ? at + delayMs : undefined,
    restarts: known.restarts + 1,
    lastRestart: at,
    restartOf: undefined,
    restartAt: undefined,
  });
  const why = reason === null || reason === "within_policy" ? "" : `${reasonText(reason, task.restart)}; `;
  const details = { start_delay: String(delayMs * 1_000_000), restart_reason: reason ?? "asked_for" };
  const text = `${why}it is started again in ${formatDuration(delayMs)}`;
  return addEvent(next, "Restarting", at, text, { task: task.name, details });
}

/**
 * The host lost the task, so its end is unknown: it starts again without counting against its policy
 * (tasks.md#lost-and-unknown), with a delay from the second loss on, and not more than `MAX_LOSSES_IN_A_ROW`
 * times.
 */
function afterLoss(
  record: AllocationRecord,
  { task, known, n }: Member,
  attempt: AttemptRecord,
  { at, now }: EndTimes,
): AllocationRecord {
  const losses = known.losses + 1;
  const { name } = task;
  if (losses > MAX_LOSSES_IN_A_ROW) {
    const ended = withTask(record, task, { dead: { at, how: "lost" } });
    const text = `it is not started again: ${losses} times in a row its exit is unknown`;
    const details = { restart_reason: "exceeded", fails_task: "true" };
    return addEvent(ended, "Not Restarting", at, text, { task: name, details });
  }
  const delayMs = losses === 1 ? 0 : jittered(Math.max(LOSS_DELAY_MS, task.restart.delayMs), attempt.id);
  const change = { losses, n: n + 1, startAt: at + delayMs > now ? at + delayMs : undefined };
  const text = `its host lost track of it; it is started again in ${formatDuration(delayMs)}`;
  return addEvent(withTask(record, task, change), "Failed Restoring Task", at, text, { task: name });
}
