// Which types of machines does a cloud offer, with what, and at what price?
import { table } from "../terminal/text.ts";

/** A type of machines that a cloud offers. Sizes are in GiB, prices are of an hour. */
export interface Offer {
  /** The cloud's name. */
  type: string;
  vcpus: number;
  memoryGib: number;
  /** Absent: the disk is chosen with the machine. */
  diskGib?: number;
  arch: "x64" | "arm64";
  gpus: number;
  /** Absent: unknown. */
  price?: number | undefined;
  spotPrice?: number | undefined;
}

const MAX_ROWS = 14;

/** The cheapest offers, for a person to choose from. */
export function offersText(offers: readonly Offer[], withSpot: boolean, columns: number): string {
  const sorted = [...offers].sort((a, b) => (a.price ?? Infinity) - (b.price ?? Infinity));
  const headings = ["TYPE", "VCPUS", "MEMORY", "DISK", "ARCH", "AN HOUR", ...(withSpot ? ["SPOT"] : [])];
  const rows = sorted.slice(0, MAX_ROWS).map((offer) => {
    const { type, vcpus, memoryGib, diskGib, arch, price, spotPrice } = offer;
    return [
      type,
      String(vcpus),
      `${memoryGib} GiB`,
      diskGib === undefined ? "" : `${diskGib} GiB`,
      arch,
      priceText(price),
      ...(withSpot ? [priceText(spotPrice)] : []),
    ];
  });
  return table(headings, rows, columns);
}

function priceText(price: number | undefined): string {
  return price === undefined ? "unknown" : String(Math.round(price * 1e5) / 1e5);
}
