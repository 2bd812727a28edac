// When may a call be made for which a person waits, within the rate that all calls of a pool share?
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { Configured } from "../state.ts";
import { callFreeAt, SECOND_MS } from "./turns.ts";

/**
 * Takes one call for something that a person asks for. It counts like a look for a machine, so others wait
 * for it, and it waits for others (clouds.md#console). Returns 0: the call may be made now; else how long
 * until the next question, and nothing is taken.
 */
export function takeCall(state: Configured, now: Instant): Millis {
  const { holds } = state.record;
  const held = holds
    .filter(({ cause, scope }) => scope === "all" && (cause === "rate_limit" || cause === "temporary"))
    .map(({ until }) => until ?? now);
  const waitMs = Math.max(callFreeAt(state, "find"), ...held) - now;
  if (waitMs > 0) return waitMs;
  const { asked } = state.memo.latest;
  state.memo.latest.asked = [now, ...asked.filter((at) => at > now - SECOND_MS && at <= now)];
  return 0;
}
