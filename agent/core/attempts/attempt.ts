// How an attempt is created, stopped and killed; every change of its phase goes through here.
import type { HostStop, StreamName } from "../../../src/schema/host.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import type { Instant, Millis } from "../../../src/shared/machine.ts";
import { DEFAULT_KILL_TIMEOUT_MS, KILL_WAITS_MS } from "../bounds.ts";
import type { HostMessage } from "../messages.ts";
import type { AttemptState, NumberedSignal, StopPlan } from "../types.ts";
import { isOver, isStoppable } from "./outputs.ts";

const NO_LOGS: Record<StreamName, { size: number; acked: number }> = {
  stdout: { size: 0, acked: 0 },
  stderr: { size: 0, acked: 0 },
};

/** An attempt that was heard of first just now. Without a task it is none to start, only one to be rid of. */
export function newAttempt(
  id: string,
  wanted: AttemptState["wanted"],
  task?: TaskSpec,
  sticky?: AttemptState["sticky"],
): AttemptState {
  return {
    id,
    wanted,
    ...(sticky === undefined ? {} : { sticky }),
    ...(task === undefined ? {} : { task, plan: planOf(task), outputs: task.outputs }),
    main: task === undefined ? "over" : "waiting",
    timedOut: false,
    kill: { tries: 0, failed: 0, error: null },
    treeGone: false,
    logs: NO_LOGS,
  };
}

/** Whether it only waits for its time, and nothing of it is here. */
export function isWaiting({ notBefore, stop }: AttemptState): boolean {
  return notBefore !== undefined && stop === undefined;
}

/** The stop that a task asks for (`killSignal`, `killTimeout`). */
export function planOf({ killSignal, killTimeoutMs }: TaskSpec): StopPlan {
  return { signal: killSignal, timeoutMs: killTimeoutMs };
}

/** The stop that an attempt's own task asks for, as far as it is known. */
export function ownStop({ plan }: AttemptState): StopPlan {
  return plan ?? { signal: "SIGTERM", timeoutMs: DEFAULT_KILL_TIMEOUT_MS };
}

/**
 * Begins to stop an attempt: signal, grace, SIGKILL to the tree (tasks.md#kill). A stop that has begun is
 * never undone and keeps its signal and its reason; another one can only shorten its grace. `by`: the host
 * begins it by itself. What has ended on its own then was not stopped by anybody,
 * unless its outputs were still being collected: they end with it.
 */
export function stopAttempt(
  attempt: AttemptState,
  plan: StopPlan,
  now: Instant,
  by?: HostStop,
): AttemptState {
  if (isOver(attempt)) return attempt;
  const killAt = plan.signal === "SIGKILL" ? now : now + plan.timeoutMs;
  const { stop } = attempt;
  if (stop === undefined) {
    const why = by === undefined || !isStoppable(attempt) ? {} : { by };
    return { ...attempt, stop: { signal: plan.signal, killAt, killing: false, signaled: false, ...why } };
  }
  return killAt < stop.killAt ? { ...attempt, stop: { ...stop, killAt } } : attempt;
}

/** What is owed to one attempt now. `mayStart`: the lease lasts, and the agent is not ending. */
export function dueForAttempt(attempt: AttemptState, mayStart: boolean): HostMessage[] {
  const { id, main, stop, task } = attempt;
  const envelope = { to: id, repeatedBy: "self" as const, id };
  if (attempt.treeGone) return attempt.wanted === "nothing" ? [{ ...envelope, kind: "forget" }] : [];
  // A stopped attempt that was not started is killed too: what is on its way to be started must not outlive
  // that.
  const overdue = stop !== undefined && (main === "waiting" || stop.killing);
  if (main === "over" || overdue) return [{ ...envelope, kind: "kill_tree", waitMs: killWaitMs(attempt) }];
  if (stop !== undefined) return stop.signaled ? [] : [{ ...envelope, kind: "signal", signal: stop.signal }];
  if (main === "waiting" && task !== undefined && mayStart)
    return [{ ...envelope, kind: attempt.prepared || !needsPreparation(task) ? "start" : "prepare", task }];
  const [next] = main === "running" ? signalsLeft(attempt) : [];
  return next === undefined ? [] : [{ ...envelope, kind: "pass_on", ...next }];
}

/** The signals that it has not got yet, in their order (host-protocol.md#orders). */
function signalsLeft({ signals = [], signaledUpTo = 0 }: AttemptState): NumberedSignal[] {
  return signals.filter(({ n }) => n > signaledUpTo).sort((a, b) => a.n - b.n);
}

/**
 * Whether something of a task may take long before it can start. Then that is a step of its own: it can be
 * stopped, and the lease is looked at again when it is done (rule R4).
 */
function needsPreparation({ artifacts = [], snapshot }: TaskSpec): boolean {
  return artifacts.length > 0 || snapshot !== undefined;
}

function killWaitMs({ kill }: AttemptState): Millis {
  return KILL_WAITS_MS[Math.min(kill.failed, KILL_WAITS_MS.length - 1)] ?? 0;
}

/**
 * A try of the kill has left something alive. After the fifth the error is reported, so that the worker
 * drains; the tries go on (tasks.md#kill-6).
 */
export function killFailed(attempt: AttemptState, error: string): AttemptState {
  const { tries, failed } = attempt.kill;
  const givenUp = failed + 1 >= KILL_WAITS_MS.length;
  return {
    ...attempt,
    kill: { tries: tries + 1, failed: failed + 1, error: givenUp ? error : null },
  };
}
