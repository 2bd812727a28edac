// For how long is what is left of an ended attempt kept here (tasks.md#kept)?
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import type { AttemptState } from "../types.ts";

/**
 * The hold with which an attempt of this task begins. The hold is stored in the journal, without the payload,
 * which has become a file of the task before.
 */
export function newHold(task: TaskSpec | undefined): Pick<AttemptState, "hold"> {
  if (task?.keep === undefined) return {};
  const { payload: _, ...kept } = task;
  return { hold: { phase: "possible", task: kept } };
}

/** Whether commands can be run in what is kept of the attempt. */
export function isKept({ hold }: AttemptState): boolean {
  return hold?.phase === "kept";
}

/** Whether processes may live that were started in what was kept of the attempt. */
export function mayBeInside({ hold }: AttemptState): boolean {
  return hold?.phase === "kept" || hold?.phase === "ending";
}

/** What a report says of the hold. Undefined: nothing of the attempt was kept (host-protocol.md#report). */
export function saidOfHold({ hold, treeGone }: AttemptState): "kept" | "over" | undefined {
  if (!treeGone || hold === undefined || hold.phase === "possible") return undefined;
  return hold.phase === "over" ? "over" : "kept";
}

/** The attempt after its last process has ended: what is left is kept, unless that is over already. */
export function withHoldBegun(attempt: AttemptState): AttemptState {
  const { hold } = attempt;
  if (hold?.phase !== "possible") return attempt;
  return { ...attempt, hold: { ...hold, phase: attempt.exit === undefined ? "over" : "kept" } };
}

/** Ends the hold of an attempt. This is never undone. */
export function endHold(attempt: AttemptState): AttemptState {
  const { hold } = attempt;
  if (hold?.phase === "possible") return { ...attempt, hold: { ...hold, phase: "over" } };
  return hold?.phase === "kept" ? { ...attempt, hold: { ...hold, phase: "ending" } } : attempt;
}

/** The attempt after the last process that was started there has ended. */
export function withHoldEnded(attempt: AttemptState): AttemptState {
  return attempt.hold?.phase === "ending" ? { ...attempt, hold: { phase: "over" } } : attempt;
}

/**
 * Applies what an order says of the hold. `holdMs` counts from the arrival of the orders, and later orders
 * never lengthen it. An attempt of which this host keeps nothing says so.
 */
export function withHoldOrder(attempt: AttemptState, holdMs: number | undefined, now: Instant): AttemptState {
  if (holdMs === undefined) return attempt;
  const { hold } = attempt;
  if (hold === undefined) return { ...attempt, hold: { phase: "over" } };
  if (holdMs <= 0) return endHold(attempt);
  return { ...attempt, hold: { ...hold, until: Math.min(hold.until ?? Infinity, now + holdMs) } };
}
