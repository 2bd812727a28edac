// How is an attempt created, stopped and killed, and what is due for it?
import type { StreamName } from "../../../src/schema/host.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import type { Instant, Millis } from "../../../src/shared/machine.ts";
import { checksOf } from "../checks/plan.ts";
import type { HostMessage } from "../messages.ts";
import type { AttemptState, HostState, NumberedSignal, StopPlan, StopState } from "../types.ts";
import { newHold } from "./hold.ts";
import { isOver, isStoppable } from "./outputs.ts";

/**
 * How long a kill waits for the end of the attempt's last process (tasks.md#kill-6). The last wait is
 * repeated.
 */
export const KILL_WAITS_MS: readonly Millis[] = [5_000, 20_000, 80_000, 120_000, 120_000];
/** Kill timeout of an attempt whose task is not known: the default (api.md#forms-and-defaults). */
const DEFAULT_KILL_TIMEOUT_MS: Millis = 5_000;

const NO_LOGS: Record<StreamName, { size: number; acked: number }> = {
  stdout: { size: 0, acked: 0 },
  stderr: { size: 0, acked: 0 },
};

/** A new attempt. Without a task it is never started, only removed. */
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
    ...(task === undefined ? {} : { task, ...ofTask(task) }),
    ...newHold(task),
    main: task === undefined ? "over" : "waiting",
    timedOut: false,
    kill: { tries: 0, failed: 0, error: null },
    treeGone: false,
    logs: NO_LOGS,
  };
}

/**
 * A host's attempts, each replaced by the result of `change`. What is unchanged remains the same object, one
 * attempt as well as all of them.
 */
export function mapAttempts(
  { attempts }: HostState,
  change: (attempt: AttemptState) => AttemptState,
): HostState["attempts"] {
  let changed: HostState["attempts"] | undefined;
  for (const [id, attempt] of Object.entries(attempts)) {
    const after = change(attempt);
    if (after === attempt) continue;
    changed ??= { ...attempts };
    changed[id] = after;
  }
  return changed ?? attempts;
}

/** Whether the attempt waits for its time to start. */
export function isWaiting({ notBefore, stop }: AttemptState): boolean {
  return notBefore !== undefined && stop === undefined;
}

/** What an attempt knows of its task for as long as it exists, also when the task itself is not needed. */
export function ofTask(task: TaskSpec): Pick<AttemptState, "plan" | "outputs" | "checks" | "hasSecrets"> {
  const checks = checksOf(task);
  const of = { plan: planOf(task), outputs: task.outputs, ...(checks === undefined ? {} : { checks }) };
  return task.secrets === undefined ? of : { ...of, hasSecrets: true };
}

/** How a task is to be stopped: with its `killSignal` and its `killTimeout`. */
export function planOf({ killSignal, killTimeoutMs }: TaskSpec): StopPlan {
  return { signal: killSignal, timeoutMs: killTimeoutMs };
}

/** How an attempt is to be stopped: as its task says, or in the default way if the task is not known. */
export function ownStop({ plan }: AttemptState): StopPlan {
  return plan ?? { signal: "SIGTERM", timeoutMs: DEFAULT_KILL_TIMEOUT_MS };
}

/**
 * Begins to stop an attempt: first the signal, then the grace period, then SIGKILL to all its processes
 * (tasks.md#kill). A stop is never undone, and keeps its signal and its reason. A later stop can only shorten
 * the grace period. `by`: why the host itself begins the stop. The stop records this reason only if the
 * attempt waits or runs, or if its outputs are still to be stored.
 */
export function stopAttempt(
  attempt: AttemptState,
  plan: StopPlan,
  now: Instant,
  by?: StopState["by"],
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

/**
 * What is due for one attempt now. `mayStart`: the attempt's time has come, the lease allows the start, the
 * agent is not ending, and the placement's directory has its data.
 */
export function dueForAttempt(attempt: AttemptState, mayStart: boolean): HostMessage[] {
  const { id, main, stop, task } = attempt;
  const about = { to: id, id };
  if (attempt.hold?.phase === "ending") return [{ ...about, kind: "end_hold", waitMs: killWaitMs(attempt) }];
  if (attempt.treeGone) return attempt.wanted === "nothing" ? [{ ...about, kind: "forget" }] : [];
  // An attempt that is stopped before its start is killed, too: the start may be in progress.
  const overdue = stop !== undefined && (main === "waiting" || stop.killing);
  if (main === "over" || overdue) return [{ ...about, kind: "kill_tree", waitMs: killWaitMs(attempt) }];
  if (stop !== undefined) return stop.signaled ? [] : [{ ...about, kind: "signal", signal: stop.signal }];
  if (main === "waiting" && task !== undefined && mayStart) {
    return [{ ...about, kind: attempt.prepared || !needsPreparation(task) ? "start" : "prepare", task }];
  }
  const [next] = main === "running" ? signalsLeft(attempt) : [];
  return next === undefined ? [] : [{ ...about, kind: "pass_on", ...next }];
}

/** The signals that have not been sent yet, in their order (host-protocol.md#orders). */
function signalsLeft({ signals = [], signaledUpTo = 0 }: AttemptState): NumberedSignal[] {
  return signals.filter(({ n }) => n > signaledUpTo).sort((a, b) => a.n - b.n);
}

/**
 * Whether the preparation of a task may take long. If so, the preparation is a separate step: it can be
 * stopped, and the lease is checked again after it (rule R4).
 */
function needsPreparation({ artifacts = [], snapshot, payload, secrets, container }: TaskSpec): boolean {
  return [snapshot, payload, secrets, container, artifacts[0]].some((need) => need !== undefined);
}

function killWaitMs({ kill }: AttemptState): Millis {
  return KILL_WAITS_MS[Math.min(kill.failed, KILL_WAITS_MS.length - 1)] ?? 0;
}

/**
 * Records that a kill has left a process alive. From the fifth failed kill on, the error is reported, so that
 * the worker drains. The kills go on (tasks.md#kill-6).
 */
export function killFailed(attempt: AttemptState, error: string): AttemptState {
  const { tries, failed } = attempt.kill;
  const isReported = failed + 1 >= KILL_WAITS_MS.length;
  return { ...attempt, kill: { tries: tries + 1, failed: failed + 1, error: isReported ? error : null } };
}
