// How does the Worker learn that the clock of this machine was set?
import type { Instant, Millis } from "../machine.ts";

/**
 * The cron that `drover up` fires after the platform's clock was set. All objects are then woken, since
 * alarms that were set before would fire at the wrong time. No deployment has such a cron.
 */
export const CLOCK_WAS_SET = "clock was set";

const CLOCK_IS = "clock is ";
/**
 * `drover up` confirms the clock each second. If the clock has moved by more than this since the last
 * confirmation, its time is not believed.
 */
const DOUBT_MS: Millis = 3_000;

/** The cron that `drover up` fires to confirm that the platform's clock shows this time and was not set. */
export function clockIs(wallMs: Instant): string {
  return `${CLOCK_IS}${wallMs}`;
}

/** The instant that a cron from `clockIs` confirms; undefined for any other cron. */
export function confirmedBy(cron: string): Instant | undefined {
  return cron.startsWith(CLOCK_IS) ? Number(cron.slice(CLOCK_IS.length)) : undefined;
}

/** The latest confirmed time. A confirmation that arrives after a later one sets nothing back. */
export function latestConfirmed(lastMs: Instant | undefined, wallMs: Instant): Instant {
  return Math.max(lastMs ?? wallMs, wallMs);
}

/**
 * The time according to a clock that was last confirmed at `lastMs` and shows `seenMs`. If the clock has
 * moved by more than the time between two confirmations, somebody may have set the clock. Then time stands
 * still until the next confirmation: a delay that ends late does less harm than a delay that ends early.
 */
export function believed(lastMs: Instant, seenMs: Instant): Instant {
  return Math.abs(seenMs - lastMs) <= DOUBT_MS ? seenMs : lastMs;
}
