// How fast may a side of tunnels send (tunnels.md#pace)?
import type { Instant, Millis } from "../machine.ts";
import type { Bucket } from "./host-units.ts";

/** The units that may be spent from a bucket, as of an instant. */
export interface TunnelPace {
  bucket: Bucket;
  units: number;
  at: Instant;
}

/** All that may be spent at once. */
export function fullTunnelPace(bucket: Bucket, now: Instant): TunnelPace {
  return { bucket, units: bucket.most, at: now };
}

/** The pace after a frame of so many units, which may spend more than is left. */
export function afterFrame(pace: TunnelPace, units: number, now: Instant): TunnelPace {
  return { ...pace, units: unitsAt(pace, now) - units, at: now };
}

/** How long bytes must wait; 0: they may be sent now. */
export function waitOf(pace: TunnelPace, now: Instant): Millis {
  const units = unitsAt(pace, now);
  return units > 0 ? 0 : Math.ceil((1 - units) / (pace.bucket.aSecond / 1_000));
}

function unitsAt({ bucket, units, at }: TunnelPace, now: Instant): number {
  // A clock that went back does not change the units.
  const gained = (Math.max(0, now - at) / 1_000) * bucket.aSecond;
  return Math.min(bucket.most, units + gained);
}
