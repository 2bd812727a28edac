// How far apart are the clocks of a host and of the control plane, and how late did a report arrive?
import type { Instant, Millis } from "../shared/machine.ts";

/** The difference between a host's clock and the clock of the control plane, as its reports show. */
export interface HostClock {
  /** How far the control plane's clock is ahead at `at`, according to the report that arrived fastest. */
  aheadMs: Millis;
  at: Instant;
  /**
   * The latest report: the host's clock in it, and how far ahead the control plane's clock was when the
   * report was read.
   */
  latest: { clock: Instant; aheadMs: Millis };
}

/** Two clocks drift apart by at most this share of the elapsed time. */
const DRIFT = 1e-3;

/** If two reports are closer together than this, neither shows whether the other was delayed. */
const APART_MS: Millis = 1_000;

/**
 * The clock of a host after a report, and how long the report waited before it was read, for example in the
 * socket of a paused control plane. Only differences between reports count, so the two clocks need not agree.
 * If the report lacks the host's clock, `hostClock` is null.
 */
export function readClock(
  known: HostClock | null,
  clock: Instant | undefined,
  now: Instant,
): { hostClock: HostClock | null; waitedMs: Millis } {
  if (clock === undefined) return { hostClock: null, waitedMs: 0 };
  const aheadMs = now - clock;
  const most = known === null ? aheadMs : known.aheadMs + Math.max(0, now - known.at) * DRIFT;
  const hasShifted = known !== null && aheadMs >= most + APART_MS && hasStoodStill(known, clock, aheadMs);
  const least = hasShifted ? aheadMs : Math.min(most, aheadMs);
  return {
    hostClock: { aheadMs: least, at: now, latest: { clock, aheadMs } },
    waitedMs: Math.round(aheadMs - least),
  };
}

/**
 * Whether the host's clock stood still, for example while its machine was paused. If it did, the latest two
 * reports show the same difference. If instead the reader was paused and delayed both reports, the later
 * report waited for less time.
 */
function hasStoodStill({ latest }: HostClock, clock: Instant, aheadMs: Millis): boolean {
  const apartMs = clock - latest.clock;
  return apartMs >= APART_MS && Math.abs(latest.aheadMs - aheadMs) < apartMs / 2;
}
