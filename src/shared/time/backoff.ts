// How long is the pause before the next retry?
import type { Millis } from "../machine.ts";

/** A pause of `firstMs` after the first failure. It doubles with each further failure, up to `longestMs`. */
export interface BackOff {
  firstMs: Millis;
  longestMs: Millis;
}

/** The pause after a number of failures in a row, counted from 1 (rules.md#r7). */
export function backOffMs({ firstMs, longestMs }: BackOff, failures: number): Millis {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1));
}

/**
 * A random pause between half of `waitMs` and all of it (`random` in [0, 1)), so that clients that were cut
 * off together do not return together.
 */
export function spread(waitMs: Millis, random: number): Millis {
  return waitMs * (0.5 + random / 2);
}
