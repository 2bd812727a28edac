// How fast may the tunnels of this host send, all together (tunnels.md#pace)?

import type { Instant, Millis } from "../../src/shared/machine.ts";
import { HOST_UNITS_A_SECOND, MAX_HOST_UNITS, unitsOfFrame } from "../../src/shared/tunnel/host-units.ts";

/** The share of a host's units for bytes of tunnels. The rest is for reports, logs and other frames. */
const SHARE = 0.6;

/** The units that tunnels may spend, as of an instant. */
export interface TunnelPace {
  units: number;
  at: Instant;
}

/** All that tunnels may spend at once. */
export function fullTunnelPace(now: Instant): TunnelPace {
  return { units: MAX_HOST_UNITS * SHARE, at: now };
}

/** The pace after a frame with this many characters, which may spend more than is left. */
export function afterFrame(pace: TunnelPace, chars: number, now: Instant): TunnelPace {
  return { units: unitsAt(pace, now) - unitsOfFrame(chars), at: now };
}

/** How long bytes must wait; 0: they may be sent now. */
export function waitOf(pace: TunnelPace, now: Instant): Millis {
  const units = unitsAt(pace, now);
  return units > 0 ? 0 : Math.ceil((1 - units) / ((HOST_UNITS_A_SECOND * SHARE) / 1_000));
}

function unitsAt({ units, at }: TunnelPace, now: Instant): number {
  // A clock that went back does not change the units.
  const gained = (Math.max(0, now - at) / 1_000) * HOST_UNITS_A_SECOND * SHARE;
  return Math.min(MAX_HOST_UNITS * SHARE, units + gained);
}
