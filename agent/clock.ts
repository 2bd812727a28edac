// How much time has passed since the boot of this machine?
import { uptime } from "node:os";
import { performance } from "node:perf_hooks";
import type { Instant, Millis } from "../src/shared/machine.ts";

/**
 * A difference between the two clocks that is smaller than this is rounding: `uptime` counts hundredths of a
 * second.
 */
const SLEEP_NOTICED_MS: Millis = 1_000;

/**
 * A clock of the time since boot. It never goes back, counts the time in which the machine sleeps (a lease
 * expires in sleep, too: rule R4), and continues across restarts of the agent. Node's own monotonic clock is
 * finer, but stops in sleep, so the uptime corrects it after each sleep.
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
