// How far is the date of a host from ours, as far as its pool must know (pool.md#clock-skew)?
import type { Report } from "../../../schema/host.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";

/** A smaller change of the difference is not noted: each change that the pool hears is a written row. */
export const SKEW_NEWS_MS: Millis = 10_000;

/**
 * How far the host's date is ahead of ours after a report that was sent at `sentAt` (pool.md#clock-skew).
 * Only a full report has a date. The date is only shown: nothing else depends on it.
 */
export function skewAfter(known: Millis, { date }: Report, sentAt: Instant): Millis {
  if (date === undefined) return known;
  const skewMs = date - sentAt;
  return Math.abs(skewMs - known) < SKEW_NEWS_MS ? known : skewMs;
}
