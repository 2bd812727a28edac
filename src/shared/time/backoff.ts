// How long is waited before what has failed is tried again?
import type { Millis } from "../machine.ts";

/** The wait after the first failure doubles with each one more, up to the longest. */
export interface BackOff {
  firstMs: Millis;
  longestMs: Millis;
}

/** The wait after so many failures in a row, from 1 on (rules.md#r7). */
export function backOffMs({ firstMs, longestMs }: BackOff, failures: number): Millis {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1));
}

/**
 * A wait between half of this one and all of it, by chance (`random` in [0, 1)): many that were cut off
 * together must not come back together.
 */
export function spread(waitMs: Millis, random: number): Millis {
  return waitMs * (0.5 + random / 2);
}
