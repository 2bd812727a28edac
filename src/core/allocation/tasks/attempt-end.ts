// What becomes of a task after its attempt has ended? Is the task done, failed, killed, or started again, and
// after which delay?
import { formatDuration } from "../../../shared/duration.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { RestartPolicy } from "../../../shared/policy.ts";
import { jittered } from "../../jitter.ts";
import type { GroupTask } from "../../spec.ts";
import type { PlacedRun, RunDraft } from "../draft.ts";
import { outputsError } from "../output/outputs.ts";
import { whyStopped } from "../read/why-stopped.ts";
import type { AttemptRecord, RestartWindow, TaskRecord } from "../state.ts";
import type { Member } from "./tasks.ts";

/** How many times in a row a task is restarted after an attempt whose end is unknown. */
export const MAX_LOSSES_IN_A_ROW = 5;

/** The shortest delay before a task is restarted after two or more lost attempts in a row. */
const LOSS_DELAY_MS: Millis = 1_000;

/**
 * Decides what becomes of a task whose present attempt has ended (restart.md#the-decision,
 * restart.md#outcomes).
 */
export function endTask(run: PlacedRun, one: Member, attempt: AttemptRecord): void {
  const cause = causeOf(one, attempt);
  const at = attempt.finishedAt ?? run.now;
  if (cause.kind !== "lost" || one.task.restart.attempts === 0) endByPolicy(run, one, attempt, cause, at);
  else endByLoss(run, one, attempt, at);
}

function endByPolicy(run: PlacedRun, one: Member, attempt: AttemptRecord, cause: Cause, at: Instant): void {
  const { task, known } = one;
  const window = known.window ?? { start: run.placement.from, count: 0 };
  const onSuccess = restartsOnSuccess(task, run.record.spec.type ?? "batch");
  const made = decideRestart({ policy: task.restart, onSuccess, window, cause, attempt: attempt.id }, at);
  switch (made.decision) {
    case "killed":
      endKilled(run, task, attempt, at);
      break;
    case "terminated":
      run.changeTask(task, { dead: { at, how: "terminated" }, ...windowToStore(known, made) });
      break;
    case "not_restarting":
      endForGood(run, one, attempt, made, at);
      break;
    case "restarting":
      startAgain(run, one, made, at);
      break;
  }
}

function causeOf({ isStopping, restarting: isTriggered }: Member, attempt: AttemptRecord): Cause {
  const { timedOut, startError, exit, unhealthy } = attempt;
  // An exit while the task is being stopped is neither a failure nor a reason to restart it
  // (decisions/tasks.md#exit-while-stopping).
  if (isStopping || timedOut) return { kind: "killed" };
  if (isTriggered === true) return { kind: "triggered" };
  // The exit of a stop says nothing: a task that ends well on SIGTERM has failed all the same.
  if (unhealthy !== undefined) return { kind: "unhealthy" };
  if (startError !== null) return { kind: "start_error", recoverable: startError.recoverable ?? false };
  if (exit === null) return { kind: "lost" };
  const lost = outputsError(attempt) !== undefined;
  return { kind: "exit", successful: exit.code === 0 && exit.signal === null && !lost };
}

/** The restart window to store. Nothing is stored while it counts no decision (restart.md#the-decision). */
function windowToStore(known: TaskRecord, { window }: RestartDecision): Partial<TaskRecord> {
  return window.count === 0 && known.window === undefined ? {} : { window };
}

function endKilled(
  run: RunDraft,
  task: GroupTask,
  { killError, startedAt }: AttemptRecord,
  at: Instant,
): void {
  run.changeTask(task, { dead: { at, how: "killed" } });
  if (run.view.group.lone) return; // the event of the run's end says it
  if (startedAt === null && killError === null) return; // it never ran
  const text = killError === null ? "it was stopped" : `it was stopped, with an error: ${killError}`;
  const error: Record<string, string> = killError === null ? {} : { kill_error: killError };
  const details = { kill_reason: whyStopped(run.view), ...error };
  run.note("Killed", at, text, { task: task.name, details });
}

/**
 * Ends a task that is not started again. The task has failed, with one exception: a single command without
 * restarts ends with its exit (api.md#lone).
 */
function endForGood(
  run: RunDraft,
  { task, known }: Member,
  attempt: AttemptRecord,
  made: RestartDecision,
  at: Instant,
): void {
  const { reason } = made;
  const alone = run.view.group.lone && reason === "not_allowed";
  const { unhealthy } = attempt;
  const lost = attempt.exit === null && attempt.startError === null && unhealthy === undefined;
  const done =
    alone && unhealthy === undefined && attempt.exit !== null && outputsError(attempt) === undefined;
  const how = lost ? "lost" : done ? "terminated" : "failed";
  run.changeTask(task, { dead: { at, how }, ...windowToStore(known, made) });
  if (alone || reason === null) return;
  const text = `it is not started again: ${reasonText(reason, task.restart)}`;
  const details = { restart_reason: reason, fails_task: "true" };
  run.note("Not Restarting", at, text, { task: task.name, details });
}

function startAgain(run: RunDraft, { task, known, n }: Member, made: RestartDecision, at: Instant): void {
  const { delayMs, reason } = made;
  run.changeTask(task, {
    ...windowToStore(known, made),
    losses: 0,
    n: n + 1,
    startAt: startAfter(delayMs, at, run.now),
    restarts: known.restarts + 1,
    lastRestart: at,
    restartOf: undefined,
    restartAt: undefined,
  });
  const why = reason === null || reason === "within_policy" ? "" : `${reasonText(reason, task.restart)}; `;
  const details = { start_delay: String(delayMs * 1_000_000), restart_reason: reason ?? "asked_for" };
  const text = `${why}it is started again in ${formatDuration(delayMs)}`;
  run.note("Restarting", at, text, { task: task.name, details });
}

/** When the next attempt may start: `delayMs` after the last end. Undefined if that time has passed. */
function startAfter(delayMs: Millis, endedAt: Instant, now: Instant): Instant | undefined {
  return endedAt + delayMs > now ? endedAt + delayMs : undefined;
}

/**
 * Restarts a task after its host has lost the attempt, so that the end of the attempt is unknown. The restart
 * does not count against the task's policy (tasks.md#lost-and-unknown). The first restart in a row has no
 * delay. There are at most `MAX_LOSSES_IN_A_ROW` such restarts in a row.
 */
function endByLoss(run: RunDraft, { task, known, n }: Member, attempt: AttemptRecord, at: Instant): void {
  const losses = known.losses + 1;
  if (losses > MAX_LOSSES_IN_A_ROW) {
    run.changeTask(task, { dead: { at, how: "lost" } });
    const text = `it is not started again: ${losses} times in a row its exit is unknown`;
    const details = { restart_reason: "exceeded", fails_task: "true" };
    run.note("Not Restarting", at, text, { task: task.name, details });
    return;
  }
  const delayMs = losses === 1 ? 0 : jittered(Math.max(LOSS_DELAY_MS, task.restart.delayMs), attempt.id);
  run.changeTask(task, { losses, n: n + 1, startAt: startAfter(delayMs, at, run.now) });
  const text = `its host lost track of it; it is started again in ${formatDuration(delayMs)}`;
  run.note("Failed Restoring Task", at, text, { task: task.name });
}

/**
 * How the attempt ended. `killed`: it was stopped on purpose. `triggered`: a restart was requested.
 * `unhealthy`: its host stopped it, since a check has failed too often. `start_error`: no process was
 * started. `exit`: it ended by itself; `successful` means code 0, no signal,
 * and no lost outputs. `lost`: its end is unknown.
 */
export type Cause =
  | { kind: "killed" }
  | { kind: "triggered" }
  | { kind: "unhealthy" }
  | { kind: "start_error"; recoverable: boolean }
  | { kind: "exit"; successful: boolean }
  | { kind: "lost" };

/** The reason for a decision (restart.md#reasons). */
export type RestartReason =
  | "not_allowed"
  | "unrecoverable"
  | "within_policy"
  | "delaying"
  | "exceeded"
  | "unnecessary";

export interface RestartDecision {
  decision: "killed" | "terminated" | "not_restarting" | "restarting";
  delayMs: Millis;
  reason: RestartReason | null;
  /** The window after the decision, to be stored. */
  window: RestartWindow;
}

export interface RestartInput {
  policy: RestartPolicy;
  /** Whether the task is started again even after a success. */
  onSuccess: boolean;
  window: RestartWindow;
  cause: Cause;
  /** The id of the attempt that ended. Its hash determines the jitter. */
  attempt: string;
}

/** Whether a task is started again after a success: services and sidecars are (restart.md#on-success). */
export function restartsOnSuccess({ hook, sidecar }: GroupTask, type: "batch" | "service"): boolean {
  return hook === "main" ? type === "service" : sidecar && hook !== "poststop";
}

/** Decides by the table of restart.md#the-decision, row by row. Row 6 cannot apply: a cause always exists. */
export function decideRestart(input: RestartInput, now: Instant): RestartDecision {
  const { policy, onSuccess, cause, attempt } = input;
  const decide = (
    decision: RestartDecision["decision"],
    reason: RestartReason | null,
    window = input.window,
    delayMs = 0,
  ): RestartDecision => ({ decision, reason, delayMs, window });

  if (cause.kind === "killed") return decide("killed", null); // row 1
  if (cause.kind === "triggered") return decide("restarting", null); // row 2
  const succeeded = cause.kind === "exit" && cause.successful && !onSuccess;
  if (policy.attempts === 0 && succeeded) return decide("terminated", "not_allowed"); // row 3
  if (policy.attempts === 0) return decide("not_restarting", "not_allowed"); // row 4
  const window = step(input.window, policy, now); // row 5
  if (cause.kind === "start_error" && !cause.recoverable)
    return decide("not_restarting", "unrecoverable", window); // row 7
  if (succeeded) return decide("terminated", "unnecessary", window); // row 8
  if (window.count <= policy.attempts)
    return decide("restarting", "within_policy", window, jittered(policy.delayMs, attempt)); // row 11
  if (policy.mode === "fail") return decide("not_restarting", "exceeded", window); // row 9
  return decide("restarting", "delaying", window, window.start + policy.intervalMs - now); // row 10
}

/** Counts one more decision. Begins a new window if the old window is over (restart.md#window-step). */
function step(window: RestartWindow, { intervalMs }: RestartPolicy, now: Instant): RestartWindow {
  const { start, count } = now > window.start + intervalMs ? { start: now, count: 0 } : window;
  return { start, count: count + 1 };
}

/** The reason in words, for events (restart.md#reasons). */
export function reasonText(reason: RestartReason, policy: RestartPolicy): string {
  switch (reason) {
    case "not_allowed":
      return "its policy allows no restarts";
    case "unrecoverable":
      return "starting it again cannot help";
    case "within_policy":
      return "within its policy";
    case "delaying":
      return `${tooMany(policy)}; it waits for the end of that interval`;
    case "exceeded":
      return tooMany(policy);
    case "unnecessary":
      return "it has done its work";
  }
}

function tooMany({ attempts, intervalMs }: RestartPolicy): string {
  return `more than ${attempts} restarts in ${formatDuration(intervalMs)}`;
}
