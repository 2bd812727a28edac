// What does an event change in its attempt: start, exit, failure, output?
import type { StreamName } from "../../../src/schema/host.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import { foldChecked } from "../checks/checks.ts";
import type { EventOf, HostEvent } from "../events.ts";
import type { ChunkEvent } from "../reports/chunks.ts";
import type { AttemptState, HostState } from "../types.ts";
import { killFailed } from "./attempt.ts";
import { mayBeInside, withHoldBegun, withHoldEnded } from "./hold.ts";
import { isCollecting } from "./outputs.ts";

export type AttemptEvent = Exclude<Extract<HostEvent, { id: string }>, ChunkEvent>;

/** Applies an event to its attempt. An event of an unknown attempt changes nothing. */
export function applyToAttempt(state: HostState, event: AttemptEvent, now: Instant): HostState {
  const attempt = state.attempts[event.id];
  if (attempt === undefined) return state;
  if (event.type === "forgotten") return withoutForgotten(state, attempt);
  const changed = attemptAfter(attempt, event, now);
  return changed === attempt ? state : { ...state, attempts: { ...state.attempts, [event.id]: changed } };
}

/**
 * Removes an attempt whose data are deleted. If newer orders name the attempt again, it stays and is
 * reported.
 */
function withoutForgotten(state: HostState, attempt: AttemptState): HostState {
  if (attempt.wanted !== "nothing" || !attempt.treeGone) return state;
  const { [attempt.id]: _, ...attempts } = state.attempts;
  return { ...state, attempts };
}

function attemptAfter(
  attempt: AttemptState,
  event: Exclude<AttemptEvent, { type: "forgotten" }>,
  now: Instant,
): AttemptState {
  const { main, stop } = attempt;
  switch (event.type) {
    case "preparing": {
      const { doing, image = attempt.image } = event;
      const isNews = main === "waiting" && (doing !== attempt.doing || image !== attempt.image);
      return isNews ? { ...attempt, doing, image } : attempt;
    }
    case "prepared":
      if (main !== "waiting") return attempt;
      return {
        ...attempt,
        prepared: true,
        doing: undefined,
        ...(event.secretsOnDisk ? { secretsOnDisk: true } : {}),
      };
    case "launched":
      if (main !== "waiting") return { ...attempt, by: event.by };
      // Nothing needs the task after the start.
      return { ...attempt, task: undefined, doing: undefined, main: "running", startedAt: now, by: event.by };
    case "launch_failed":
      if (main === "over") return attempt;
      return { ...attempt, main: "over", startError: event.startError, endedAt: now };
    case "refused":
      return main === "waiting" ? { ...attempt, main: "over" } : attempt;
    case "signaled":
      return stop === undefined || stop.signaled
        ? attempt
        : { ...attempt, stop: { ...stop, signaled: true } };
    case "passing_on":
      return { ...attempt, signaledUpTo: Math.max(event.n, attempt.signaledUpTo ?? 0) };
    case "exited": {
      if (main === "over") return attempt;
      const exit = event.exit === null ? {} : { exit: event.exit };
      return { ...attempt, main: "over", startedAt: attempt.startedAt ?? now, endedAt: now, ...exit };
    }
    case "collected":
      return isCollecting(attempt) ? { ...attempt, collected: event.outputs } : attempt;
    case "output":
      return withOutput(attempt, event);
    case "checked":
      return foldChecked(attempt, event, now);
    case "tree_gone":
      return attempt.treeGone ? attempt : withHoldBegun(withTreeGone(attempt, event, now));
    case "hold_ended":
      return withHoldEnded(attempt);
    case "kill_failed":
      return attempt.treeGone && !mayBeInside(attempt) ? attempt : killFailed(attempt, event.error);
  }
}

function withOutput(
  attempt: AttemptState,
  { stream, size }: { stream: StreamName; size: number },
): AttemptState {
  const before = attempt.logs[stream];
  if (size <= before.size) return attempt;
  return { ...attempt, logs: { ...attempt.logs, [stream]: { ...before, size } } };
}

/**
 * Notes that no process is left. If the main process was running, its exit status is lost. Peaks that an
 * earlier start of the agent has measured stay.
 */
function withTreeGone(
  attempt: AttemptState,
  { killed, peaks: measured }: EventOf<"tree_gone">,
  now: Instant,
): AttemptState {
  const { peaks = measured } = attempt;
  return {
    ...attempt,
    task: undefined,
    main: "over",
    treeGone: true,
    ...(peaks === undefined ? {} : { peaks }),
    kill: { ...attempt.kill, tries: attempt.kill.tries + (killed ? 1 : 0) },
    ...(attempt.main === "running" ? { endedAt: now } : {}),
  };
}
