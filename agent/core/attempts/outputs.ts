// When are the outputs of an attempt collected, and when is the attempt over?
import type { HostMessage } from "../messages.ts";
import type { AttemptState, HostState } from "../types.ts";

/**
 * Whether outputs are still to be stored: the attempt has ended by itself, no stop has begun, and no outcome
 * is known yet.
 */
export function owesOutputs({ exit, stop, outputs, collected }: AttemptState): boolean {
  const endedByItself = exit !== undefined && stop === undefined;
  return endedByItself && outputs !== undefined && collected === undefined;
}

/** Whether outputs are being collected: no process is left that could change them. */
export function isCollecting(attempt: AttemptState): boolean {
  return attempt.treeGone && owesOutputs(attempt);
}

/** Whether the attempt is over: no process is left, and no outputs are being collected. */
export function isOver(attempt: AttemptState): boolean {
  return attempt.treeGone && !isCollecting(attempt);
}

/** Whether a stop changes anything: the attempt waits or runs, or its outputs are still to be stored. */
export function isStoppable(attempt: AttemptState): boolean {
  return attempt.main !== "over" || owesOutputs(attempt);
}

/** The outputs to collect. There are none before this host has joined, since it cannot store them yet. */
export function dueCollections({ setup, attempts }: HostState): HostMessage[] {
  if (setup === undefined) return [];
  return Object.values(attempts)
    .filter(isCollecting)
    .map(({ id, outputs: globs = [] }) => ({ to: id, kind: "collect", id, globs }));
}
