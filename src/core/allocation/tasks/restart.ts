// Is a task whose attempt has ended started again, and after which delay? The table of
// restart.md#the-decision.
import { formatDuration } from "../../../shared/duration.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { RestartPolicy } from "../../../shared/policy.ts";
import { jittered } from "../../jitter.ts";
import type { GroupTask } from "../../spec.ts";
import type { RestartWindow } from "../state.ts";

/**
 * How the attempt ended. `killed`: stopped on purpose. `triggered`: a restart was requested. `start_error`:
 * no process was started. `exit`: `successful` with code 0 and without a signal. `lost`: the end is unknown.
 */
export type Cause =
  | { kind: "killed" }
  | { kind: "triggered" }
  | { kind: "start_error"; recoverable: boolean }
  | { kind: "exit"; successful: boolean }
  | { kind: "lost" };

/** Why this was decided (restart.md#reasons). */
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
  /** The new window, to be stored. */
  window: RestartWindow;
}

export interface RestartInput {
  policy: RestartPolicy;
  /** Whether the task is started again even after a success. */
  onSuccess: boolean;
  window: RestartWindow;
  cause: Cause;
  /** The attempt that ended: its hash is the jitter. */
  attempt: string;
}

/** Whether a task is started again after a success: services and sidecars are (restart.md#on-success). */
export function restartsOnSuccess({ hook, sidecar }: GroupTask, type: "batch" | "service"): boolean {
  return hook === "main" ? type === "service" : sidecar && hook !== "poststop";
}

/**
 * Decides by the table of restart.md#the-decision, row by row. Row 6 (no cause) cannot arise: there is always
 * one.
 */
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

/** Counts one more decision, in a new window if the old one is over (restart.md#window-step; strict). */
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
