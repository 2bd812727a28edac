import { uptime } from "node:os";
import { performance } from "node:perf_hooks";
import type { Instant, Millis } from "../src/shared/machine.ts";

/** How far the two clocks may differ by rounding: `uptime` counts in hundredths of a second. */
const SLEEP_NOTICED_MS: Millis = 1_000;

/**
 * The time since the boot of the machine: a clock that never goes back, that counts the time in which the
 * machine sleeps (a lease runs out in the meantime, rule R4), and that is the same for the next start of the
 * agent. Node's own monotonic clock is finer and stands still in sleep, so the difference to the uptime is
 * added as soon as it is seen.
 */
export function makeClock(): () => Instant {
  let aheadMs = uptime() * 1_000 - performance.now();
  return () => {
    const awake = performance.now();
    const seenMs = uptime() * 1_000 - awake;
    if (seenMs - aheadMs > SLEEP_NOTICED_MS) aheadMs = seenMs;
    return Math.round(awake + aheadMs);
  };
}
