// What a report shows of its host's clock, and for how long it was on its way.
import type { Instant, Millis } from "../shared/machine.ts";

/** How a host's clock and ours go together, as far as its reports show. */
export interface HostClock {
  /** How far ours is ahead, by the report that was on its way for the shortest time, as of `at`. */
  aheadMs: Millis;
  at: Instant;
  /** The latest report: what its host's clock said then, and how far ours was ahead when it was read. */
  latest: { clock: Instant; aheadMs: Millis };
}

/** Two clocks drift apart by less than this share of the time. */
const DRIFT = 1e-3;

/** Reports this close together show nothing of each other's wait. */
const APART_MS: Millis = 1_000;

/**
 * The clock of a host after a report, and for how long that report lay somewhere before it was read: in the
 * socket of a control plane that stood still, for example. Only differences between reports count, so it does
 * not matter what the host takes for the time.
 */
export function readClock(
  known: HostClock | null,
  clock: Instant,
  now: Instant,
): { hostClock: HostClock; waitedMs: Millis } {
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
 * Whether the host's clock has stood still, as that of a machine that was paused: ours is as far ahead at the
 * latest two reports. Of two reports that waited for the same reader the later one waited for less time.
 */
function hasStoodStill({ latest }: HostClock, clock: Instant, aheadMs: Millis): boolean {
  const apartMs = clock - latest.clock;
  return apartMs >= APART_MS && Math.abs(latest.aheadMs - aheadMs) < apartMs / 2;
}
