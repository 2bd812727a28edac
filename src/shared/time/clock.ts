import type { Instant, Millis } from "../machine.ts";

/**
 * The cron by which `drover up` says that the platform's clock has been set: alarms that were armed before
 * come at the wrong time, so all that lives is woken. No deployment has such a cron.
 */
export const CLOCK_WAS_SET = "clock was set";

const CLOCK_IS = "clock is ";
/** `drover up` confirms the clock each second; a clock that has moved by more since is not believed. */
const DOUBT_MS: Millis = 3_000;

/** The cron by which `drover up` says what the platform's clock shows, and that nobody has set it. */
export function clockIs(wallMs: Instant): string {
  return `${CLOCK_IS}${wallMs}`;
}

/** The instant that such a cron confirms; undefined for any other cron. */
export function confirmedBy(cron: string): Instant | undefined {
  return cron.startsWith(CLOCK_IS) ? Number(cron.slice(CLOCK_IS.length)) : undefined;
}

/**
 * The time by a clock that was last believed at `lastMs` and shows `seenMs`. If it has moved by more than it
 * can have between two confirmations, it may have been set, and time stands still until that is known: a
 * delay that ends late does less harm than one that ends early.
 */
export function believed(lastMs: Instant, seenMs: Instant): Instant {
  return Math.abs(seenMs - lastMs) <= DOUBT_MS ? seenMs : lastMs;
}
