import { formatDuration } from "../../../shared/duration.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { RestartPolicy } from "../../../shared/policy.ts";
import { jittered } from "../../jitter.ts";
import type { GroupTask } from "../../spec.ts";
import type { RestartWindow } from "../state.ts";

/**
 * Why a restart is decided on. `killed`: by us, on purpose. `triggered`: somebody asked for a restart.
 * `start_error`: no process was started. `exit`: it has ended; `successful` if with 0 and by no signal.
 * `lost`: it has ended, and nobody knows how.
 */
export type Cause =
  | { kind: "killed" }
  | { kind: "triggered" }
  | { kind: "start_error"; recoverable: boolean }
  | { kind: "exit"; successful: boolean }
  | { kind: "lost" };

/** Why it was decided so (restart.md#reasons). */
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
  /** As it is to be stored. */
  window: RestartWindow;
}

export interface RestartInput {
  policy: RestartPolicy;
  /** Whether the task is started again after a success, too. */
  onSuccess: boolean;
  window: RestartWindow;
  cause: Cause;
  /** The attempt that has ended: its hash is the jitter. */
  attempt: string;
}

/**
 * Whether a task is started again after a success: services and sidecars are, what shall end is not
 * (restart.md#on-success).
 */
export function restartsOnSuccess({ hook, sidecar }: GroupTask, type: "batch" | "service"): boolean {
  return hook === "main" ? type === "service" : sidecar && hook !== "poststop";
}

/**
 * What becomes of a task of which an attempt has ended: the table of restart.md#the-decision, row by row. Row
 * 6 (no input) cannot arise: there is always a cause.
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

/**
 * One more decision in the window; a new window, if the old one is over (restart.md#window-step: strictly).
 */
function step(window: RestartWindow, { intervalMs }: RestartPolicy, now: Instant): RestartWindow {
  const { start, count } = now > window.start + intervalMs ? { start: now, count: 0 } : window;
  return { start, count: count + 1 };
}

/** The reason in a sentence, for events (restart.md#reasons). */
export function reasonText(reason: RestartReason, policy: RestartPolicy): string {
  switch (reason) {
    case "not_allowed":
      return "its policy allows no restarts";
    case "unrecoverable":
      return "starting it again cannot help";
    case "within_policy":
      return "within its policy";
    case "delaying":
      return `${tooMany(policy)}; it waits for the end of that`;
    case "exceeded":
      return tooMany(policy);
    case "unnecessary":
      return "it has done its work";
  }
}

function tooMany({ attempts, intervalMs }: RestartPolicy): string {
  return `more than ${attempts} restarts in ${formatDuration(intervalMs)}`;
}
