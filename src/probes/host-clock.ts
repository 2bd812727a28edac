// How far apart are a host's clock and ours, and how long did a report take to arrive?
import type { Instant, Millis } from "../shared/machine.ts";

/** The relation of a host's clock to ours, as far as its reports show. */
export interface HostClock {
  /** How far our clock is ahead at `at`, according to the report that arrived fastest. */
  aheadMs: Millis;
  at: Instant;
  /** The latest report: the host's clock in it, and how far our clock was ahead when it was read. */
  latest: { clock: Instant; aheadMs: Millis };
}

/** Two clocks drift apart by at most this share of the elapsed time. */
const DRIFT = 1e-3;

/** Reports closer together than this say nothing about each other's delay. */
const APART_MS: Millis = 1_000;

/**
 * The clock of a host after a report, and how long the report waited before it was read, for example in the
 * socket of a paused control plane. Only differences between reports count, so the clocks need not agree. A
 * report need not contain the clock.
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
 * Whether the host's clock stood still, as on a paused machine. Then the latest two reports show the same
 * difference. If a paused reader had delayed both, the later one would have waited for less time.
 */
function hasStoodStill({ latest }: HostClock, clock: Instant, aheadMs: Millis): boolean {
  const apartMs = clock - latest.clock;
  return apartMs >= APART_MS && Math.abs(latest.aheadMs - aheadMs) < apartMs / 2;
}
