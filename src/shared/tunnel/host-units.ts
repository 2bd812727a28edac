// How much may a host and its clients send? Drover counts units, and both sides of a tunnel keep within them.

/** Units that are refilled each second, up to a maximum. */
export interface Bucket {
  aSecond: number;
  most: number;
}

/** The units of a host (reports.md). */
export const HOST_UNITS: Bucket = { aSecond: 100, most: 200 };

/** The part of them for what tunnels send (tunnels.md#pace). The rest is for reports and logs. */
export const TUNNEL_UNITS: Bucket = { aSecond: 60, most: 120 };

/**
 * The units for frames of all clients of a worker, by number only (tunnels.md#pace). The host answers a frame
 * with one at most, which cannot wait: all answers and what the tunnels send fit into what the host may send.
 */
export const CLIENT_UNITS: Bucket = { aSecond: 60, most: 60 };

/** The part of them that one client keeps within, so that it is not cut off if it is the only one. */
export const ONE_CLIENT_UNITS: Bucket = { aSecond: 45, most: 45 };

/** Units for a frame of this many bytes that is only passed on: 2,000 frames or 100 MiB a second. */
export function unitsOfFrame(bytes: number): number {
  return 1 / 20 + bytes / (1024 * 1024);
}
