import { formatDuration } from "../../../shared/duration.ts";
import { MAX_LOSSES_IN_A_ROW } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { jittered } from "../../jitter.ts";
import type { GroupTask } from "../../spec.ts";
import { outputsError } from "../output/outputs.ts";
import { addEvent } from "../read/events.ts";
import { whyStopped } from "../read/why-stopped.ts";
import type { AllocationRecord, AttemptRecord, PlacementRecord, TaskRecord } from "../state.ts";
import { type Cause, decideRestart, type RestartDecision, reasonText, restartsOnSuccess } from "./restart.ts";
import { type GroupView, type Member, withTask } from "./tasks.ts";

/** The wait before a task is started again that was lost more than once in a row, at least. */
const LOSS_DELAY_MS: Millis = 1_000;

/** When an attempt ended, and when that is heard: delays count from the end, and none ends in the past. */
interface Heard {
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
      return killed(view, task, attempt, at);
    case "terminated":
      return withTask(record, task, { dead: { at, how: "terminated" }, ...kept(known, made) });
    case "not_restarting":
      return notRestarting(view, one, attempt, made, at);
    case "restarting":
      return restarting(record, one, made, { at, now });
  }
}

function causeOf({ isStopping, restarting: isTriggered }: Member, attempt: AttemptRecord): Cause {
  const { timedOut, startError, exit } = attempt;
  // An exit while it is being stopped is no failure, and no reason to start again
  // (decisions/tasks.md#exit-while-stopping).
  if (isStopping || timedOut) return { kind: "killed" };
  if (isTriggered === true) return { kind: "triggered" };
  if (startError !== null) return { kind: "start_error", recoverable: startError.recoverable ?? false };
  if (exit === null) return { kind: "lost" };
  const lost = outputsError(attempt) !== undefined;
  return { kind: "exit", successful: exit.code === 0 && exit.signal === null && !lost };
}

/** The window is stored once it counts something: a task that ends at its first try has none. */
function kept(known: TaskRecord, { window }: RestartDecision): Partial<TaskRecord> {
  return window.count === 0 && known.window === undefined ? {} : { window };
}

function killed(
  { record: before, group }: GroupView,
  task: GroupTask,
  { killError, startedAt }: AttemptRecord,
  at: Instant,
): AllocationRecord {
  const record = withTask(before, task, { dead: { at, how: "killed" } });
  if (group.lone) return record; // the run's own end says it
  if (startedAt === null && killError === null) return record; // nothing of it ran
  const text = killError === null ? "it was stopped" : `it was stopped, with trouble: ${killError}`;
  const error: Record<string, string> = killError === null ? {} : { kill_error: killError };
  const details = { kill_reason: whyStopped(record), ...error };
  return addEvent(record, "Killed", at, text, { task: task.name, details });
}

/**
 * A command by itself that may not be started again ends with what it said: that is no failure of a task
 * (api.md#lone). In every other case the task has failed.
 */
function notRestarting(
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
  const ended = withTask(record, task, { dead: { at, how }, ...kept(known, made) });
  if (alone || made.reason === null) return ended;
  const text = reasonText(made.reason, task.restart);
  const details = { restart_reason: made.reason, fails_task: "true" };
  return addEvent(ended, "Not Restarting", at, `it is not started again: ${text}`, {
    task: task.name,
    details,
  });
}

function restarting(
  record: AllocationRecord,
  { task, known, n }: Member,
  made: RestartDecision,
  { at, now }: Heard,
): AllocationRecord {
  const { delayMs, reason } = made;
  const next = withTask(record, task, {
    ...kept(known, made),
    losses: undefined,
    n: n + 1,
    startAt: at + delayMs > now ? at + delayMs : undefined,
    restarts: (known.restarts ?? 0) + 1,
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
 * The host could not find the task again, so nobody knows how it ended: it is started anew without counting
 * against its policy (tasks.md#lost-and-unknown), but neither at once nor for ever if that happens again and
 * again.
 */
function afterLoss(
  record: AllocationRecord,
  { task, known, n }: Member,
  attempt: AttemptRecord,
  { at, now }: Heard,
): AllocationRecord {
  const losses = (known.losses ?? 0) + 1;
  const { name } = task;
  if (losses > MAX_LOSSES_IN_A_ROW) {
    const ended = withTask(record, task, { dead: { at, how: "lost" } });
    const text = `it is not started again: ${losses} times in a row nobody saw how it ended`;
    const details = { restart_reason: "exceeded", fails_task: "true" };
    return addEvent(ended, "Not Restarting", at, text, { task: name, details });
  }
  const delayMs = losses === 1 ? 0 : jittered(Math.max(LOSS_DELAY_MS, task.restart.delayMs), attempt.id);
  const change = { losses, n: n + 1, startAt: at + delayMs > now ? at + delayMs : undefined };
  const text = `its host did not find it again; it is started anew in ${formatDuration(delayMs)}`;
  return addEvent(withTask(record, task, change), "Failed Restoring Task", at, text, { task: name });
}
