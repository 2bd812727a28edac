// When may a call be made for which a person waits, within the rate that all calls of a pool share?
import type { Instant, Millis } from "../../../shared/machine.ts";
import { isRemoved, type PoolState } from "../state.ts";
import { callFreeAt, SECOND_MS } from "./turns.ts";

/**
 * Takes one call for something that a person asks for. It counts like a look for a machine, so others wait
 * for it, and it waits for others (clouds.md#console). Returns 0: the call may be made now; else how long
 * until the next question, and nothing is taken.
 */
export function takeCall(state: PoolState, now: Instant): Millis {
  // Nobody else uses what a pool that is removed had, and its machines may have been left.
  const { record } = state;
  if (record === null || isRemoved(state)) return 0;
  const { holds } = record;
  const held = holds
    .filter(({ cause, scope }) => scope === "all" && (cause === "rate_limit" || cause === "temporary"))
    .map(({ until }) => until ?? now);
  const waitMs = Math.max(callFreeAt({ ...state, record }, "find"), ...held) - now;
  if (waitMs > 0) return waitMs;
  const { asked } = state.memo.latest;
  state.memo.latest.asked = [now, ...asked.filter((at) => at > now - SECOND_MS && at <= now)];
  return 0;
}
