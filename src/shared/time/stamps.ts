// When did which bytes of a stream arrive? Stamps in pairs of small numbers, as they travel and are stored.
import type { Millis } from "../machine.ts";

/**
 * `bytes` of a stream, beginning where the previous stamp ends, had all arrived `ms` after the start of their
 * attempt, and the first of them after the previous stamp. No bytes: nobody looked from then on until the
 * next stamp (host-protocol.md#stamps).
 */
export interface Stamp {
  bytes: number;
  ms: Millis;
}

/**
 * Stamps as `[bytes, ms, bytes, ms, …]`, where each `ms` but the first counts from the one before: most
 * numbers are small, in JSON as in storage.
 */
export type PackedStamps = readonly number[];

/** The largest number of stamps of one stretch of bytes: a piece in a report, a chunk, a tail. */
export const MAX_STAMPS = 512;

/** The stamps as pairs of small numbers. A time before the previous one becomes the previous one. */
export function packStamps(stamps: readonly Stamp[]): number[] {
  let last = 0;
  return stamps.flatMap(({ bytes, ms }) => {
    const later = Math.max(0, Math.round(ms) - last);
    last += later;
    return [bytes, later];
  });
}

/** The stamps of such pairs; a number without its partner is ignored. */
export function unpackStamps(packed: PackedStamps): Stamp[] {
  let ms = 0;
  return Array.from({ length: Math.floor(packed.length / 2) }, (_, index) => {
    ms += packed[index * 2 + 1] ?? 0;
    return { bytes: packed[index * 2] ?? 0, ms };
  });
}

/** How many bytes these stamps are about. */
export function stampedBytes(stamps: readonly Stamp[]): number {
  return stamps.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * The stamps of the bytes from `from` up to `to`, if the first stamp begins at 0. Whatever was not looked at
 * before the first of these bytes stays noted.
 */
export function cutStamps(stamps: readonly Stamp[], from: number, to: number): Stamp[] {
  const cut: Stamp[] = [];
  let gap: Stamp | undefined;
  let at = 0;
  for (const { bytes, ms } of stamps) {
    if (at >= to) break;
    const part = Math.min(to, at + bytes) - Math.max(from, at);
    if (bytes === 0) gap = { bytes, ms };
    else if (part > 0) {
      cut.push(...(gap === undefined ? [] : [gap]), { bytes: part, ms });
    }
    if (bytes > 0) gap = undefined;
    at += bytes;
  }
  return cut;
}

/**
 * At most `most` (two or more) stamps for the same bytes: neighbors become one, with the later time.
 * Stretches of time in which nobody looked are kept. If they are too many, all becomes one stretch.
 */
export function thinStamps(stamps: readonly Stamp[], most: number): Stamp[] {
  let thin = [...stamps];
  while (thin.length > most) {
    const next = halved(thin);
    if (next.length === thin.length) return unwatched(thin);
    thin = next;
  }
  return thin;
}

/** One stamp for the same bytes, which says only that they arrived before the last of these stamps. */
function unwatched(stamps: readonly Stamp[]): Stamp[] {
  return [
    { bytes: 0, ms: 0 },
    { bytes: stampedBytes(stamps), ms: stamps.at(-1)?.ms ?? 0 },
  ];
}

/** Joins each stamp with the one behind it, but never across a stretch in which nobody looked. */
function halved(stamps: readonly Stamp[]): Stamp[] {
  const half: Stamp[] = [];
  for (let i = 0; i < stamps.length; i += 1) {
    const [one, next] = [stamps[i], stamps[i + 1]];
    if (one === undefined) break;
    const joins = one.bytes > 0 && next !== undefined && next.bytes > 0;
    half.push(joins ? { bytes: one.bytes + next.bytes, ms: next.ms } : one);
    if (joins) i += 1;
  }
  return half;
}
