// How many requests are allowed in which time? Each caller has a bucket that drains at a steady pace
// (access.md#rate-limits).
import type { Instant, Millis } from "../machine.ts";

/** `quota` requests are allowed at once, and as many again in each `windowMs`. */
export interface RatePolicy {
  quota: number;
  windowMs: Millis;
}

/** What a limiter remembers of one caller: when the caller's whole quota is free again. */
export type RateState = Instant;

/**
 * The outcome of one request. `left`: how many more requests are allowed now. `retryAfterMs`: how long the
 * caller must wait until a request is allowed.
 */
export interface RateVerdict {
  allowed: boolean;
  left: number;
  retryAfterMs: Millis;
  state: RateState;
}

/**
 * Judges one request by the generic cell rate algorithm (access.md#rate-limits), which remembers only one
 * instant for each caller. `state`: undefined for an unknown caller.
 */
export function judgeRate(
  { quota, windowMs }: RatePolicy,
  state: RateState | undefined,
  now: Instant,
): RateVerdict {
  const spacingMs = windowMs / quota;
  const freeAt = Math.max(state ?? now, now);
  const used = (freeAt - now) / spacingMs;
  if (used > quota - 1) {
    return {
      allowed: false,
      left: 0,
      retryAfterMs: Math.ceil((used - quota + 1) * spacingMs),
      state: freeAt,
    };
  }
  return {
    allowed: true,
    left: Math.floor(quota - 1 - used),
    retryAfterMs: 0,
    state: freeAt + spacingMs,
  };
}
