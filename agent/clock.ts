import { uptime } from "node:os";
import { performance } from "node:perf_hooks";
import type { Instant, Millis } from "../src/core/machine.ts";

/** How far the two clocks may differ by rounding: `uptime` counts in hundredths of a second. */
const SLEEP_NOTICED_MS: Millis = 1_000;

/**
 * A clock that never goes back and counts the time in which the machine sleeps: a lease runs out in the
 * meantime (rule R4). Node's own monotonic clock stands still then, so the difference to the machine's
 * uptime is added.
 */
export function makeClock(): () => Instant {
  const origin = uptime() * 1_000 - performance.now();
  let sleptMs = 0;
  return () => {
    const awake = performance.now();
    const ahead = uptime() * 1_000 - origin - awake;
    if (ahead - sleptMs > SLEEP_NOTICED_MS) sleptMs = ahead;
    return Math.round(awake + sleptMs);
  };
}
