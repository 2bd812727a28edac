// How many requests in which time are allowed? A bucket that drains at a steady pace (access.md#rate-limits).
import type { Instant, Millis } from "../machine.ts";

/** So many requests at once, and as many again in each window. */
export interface RatePolicy {
  quota: number;
  windowMs: Millis;
}

/** What a limiter remembers of one caller: when everything it has used is free again. */
export type RateState = Instant;

/** The outcome of one request: whether it is allowed, and how many more are; else when the next one is. */
export interface RateVerdict {
  allowed: boolean;
  left: number;
  retryAfterMs: Millis;
  state: RateState;
}

/**
 * Judges one request by the generic cell rate algorithm (access.md#rate-limits): one instant for each caller
 * is all that there is to remember. `state`: undefined for a caller that nothing is known of.
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
