// How much time has passed since the boot of this machine?
import { uptime } from "node:os";
import { performance } from "node:perf_hooks";
import type { Instant, Millis } from "../src/shared/machine.ts";

/**
 * A difference between two clocks that is smaller than this is rounding: `uptime` counts hundredths of a
 * second.
 */
const SLEEP_NOTICED_MS: Millis = 1_000;

/**
 * The uptime is read at least this often, in time awake. Each reading opens a file, so it is not read for
 * each look at the clock.
 */
const LOOK_AT_UPTIME_MS: Millis = 500;

/** The clocks of the system that `makeClock` combines, in milliseconds. */
export interface Clocks {
  /** Since boot, with the time of sleep. */
  uptime: () => Millis;
  /** Stands still in sleep. */
  awake: () => Millis;
  /** The date, which somebody may set. */
  date: () => Millis;
}

const SYSTEM: Clocks = {
  uptime: () => uptime() * 1_000,
  awake: () => performance.now(),
  date: () => Date.now(),
};

/**
 * A clock of the time since boot. It never goes back, counts the time in which the machine sleeps (a lease
 * expires in sleep, too: rule R4), and continues across restarts of the agent. Node's own monotonic clock is
 * finer, but stops in sleep, so the uptime corrects it after each sleep: at once if the date has gone on
 * meanwhile, and otherwise, since the date may have been set back, after `LOOK_AT_UPTIME_MS`.
 */
export function makeClock({ uptime, awake, date }: Clocks = SYSTEM): () => Instant {
  let aheadMs = uptime() - awake();
  let lookedAt = awake();
  let dateAheadMs = date() - awake();
  return () => {
    const at = awake();
    const dateSaysMs = date() - at;
    if (at - lookedAt >= LOOK_AT_UPTIME_MS || Math.abs(dateSaysMs - dateAheadMs) > SLEEP_NOTICED_MS) {
      const seenMs = uptime() - at;
      if (seenMs - aheadMs > SLEEP_NOTICED_MS) aheadMs = seenMs;
      lookedAt = at;
      dateAheadMs = dateSaysMs;
    }
    return Math.round(at + aheadMs);
  };
}
