// When are the outputs of an attempt collected, and when is that settled?
import type { HostMessage } from "../messages.ts";
import type { AttemptState, HostState } from "../types.ts";

/**
 * Whether the outputs of an attempt are still to come: it has ended by itself, and what becomes of them is
 * not known yet. A stop ends that like anything else of an attempt.
 */
export function owesOutputs({ exit, stop, outputs, collected }: AttemptState): boolean {
  const endedByItself = exit !== undefined && stop === undefined;
  return endedByItself && outputs !== undefined && collected === undefined;
}

/** Whether they are being collected: nothing lives any more that could change them. */
export function isCollecting(attempt: AttemptState): boolean {
  return attempt.treeGone && owesOutputs(attempt);
}

/** Whether nothing more becomes of it. */
export function isOver(attempt: AttemptState): boolean {
  return attempt.treeGone && !isCollecting(attempt);
}

/** Whether a stop takes something away: it waits or runs, or its outputs are still to come. */
export function isStoppable(attempt: AttemptState): boolean {
  return attempt.main !== "over" || owesOutputs(attempt);
}

/**
 * The outputs to be collected. Until this host has joined nobody knows where they go.
 */
export function dueCollections({ setup, attempts }: HostState): HostMessage[] {
  if (setup === undefined) return [];
  return Object.values(attempts)
    .filter(isCollecting)
    .map(({ id, outputs = [] }) => ({
      to: id,
      repeatedBy: "self",
      kind: "collect",
      id,
      globs: outputs,
    }));
}
