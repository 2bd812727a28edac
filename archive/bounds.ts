// How large may an archive be, packed and unpacked?
import type { PackBounds } from "./pack.ts";
import type { UnpackBounds } from "./unpack.ts";

/** What one archive may unpack to, on a host and for a user: a compressed file can expand without end. */
export const UNPACK_BOUNDS: UnpackBounds = { bytes: 64 * 1024 ** 3, entries: 1_000_000 };

/** What may be packed: no more than the store takes (`storedBytes`), and no more than can be unpacked. */
export function packBounds(storedBytes: number): PackBounds {
  return { bytes: storedBytes, contents: UNPACK_BOUNDS.bytes, entries: UNPACK_BOUNDS.entries };
}
