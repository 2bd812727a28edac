// When is a delivery tried again (webhooks.md#schedule)?
import type { Instant, Millis } from "../../shared/machine.ts";
import { jittered } from "../jitter.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The pauses between the attempts of one delivery, before jitter. The first attempt is made at once. */
export const RETRY_PAUSES_MS: readonly Millis[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];
/** How many attempts a delivery has, unless its endpoint fails altogether. */
export const MAX_TRIES = RETRY_PAUSES_MS.length + 1;
/** After how long an endpoint is disabled at which every attempt has failed. */
export const DISABLED_AFTER_MS: Millis = 5 * 24 * HOUR;
/** Fewer failures than this never disable an endpoint, since Drover itself may have been away. */
export const DISABLED_AFTER_FAILURES = MAX_TRIES;
/** The longest pause that a receiver can ask for by `Retry-After`. */
export const MAX_PAUSE_MS: Millis = 24 * HOUR;
/** The pause of an endpoint whose answer asks for one without saying how long. */
export const DEFAULT_PAUSE_MS: Millis = 5 * SECOND;

/** The statuses by which a receiver says that it has too much to do. */
const BUSY_STATUSES: readonly number[] = [429, 502, 503, 504];

/** Whether a status asks for a pause of all deliveries (webhooks.md#throttling). */
export function asksForPause(status: number | null): boolean {
  return status !== null && BUSY_STATUSES.includes(status);
}

/**
 * When a delivery is tried again whose attempt number `tries` has failed at `now`: after the pause of the
 * schedule, with up to a quarter more, but not before `notBefore`.
 */
export function retryAt(id: string, tries: number, now: Instant, notBefore: Instant): Instant {
  const pauseMs = RETRY_PAUSES_MS[Math.min(tries, RETRY_PAUSES_MS.length) - 1] ?? 0;
  return Math.max(notBefore, now + jittered(pauseMs, `${id} ${tries}`));
}
