// Which stamps of a host are believed, and which stamps has the tail of a stream after more bytes came?
import type { Instant, Millis } from "../../../shared/machine.ts";
import {
  type PackedStamps,
  packStamps,
  type Stamp,
  stampedBytes,
  thinStamps,
  unpackStamps,
} from "../../../shared/time/stamps.ts";
import type { AllocationRecord } from "../state.ts";

/** The largest number of stamps of a tail, and of the row that it becomes (host-protocol.md#stamps). */
export const MAX_TAIL_STAMPS = 2_048;

/** What a stamp takes in storage, in bytes: two numbers. */
const STORED_STAMP_BYTES = 16;

/** Bytes of a stream with their stamps. Absent stamps: their host has not said when they arrived. */
export interface StampedBytes {
  bytes: number;
  stamps?: readonly Stamp[] | undefined;
}

/**
 * The stamps of `bytes` as their host says them. Undefined if the host says none, or if they are about
 * another number of bytes. Nothing arrives later than `mostMs` after the start (host-protocol.md#stamps).
 */
export function believedStamps(
  packed: PackedStamps | undefined,
  bytes: number,
  mostMs: Millis,
): Stamp[] | undefined {
  if (packed === undefined) return undefined;
  const stamps = unpackStamps(packed).map((one) => ({ ...one, ms: Math.min(one.ms, mostMs) }));
  return stampedBytes(stamps) === bytes ? stamps : undefined;
}

/** How long ago an attempt started, at most: no output of it is older. */
export function longestAgo({ tasks, submittedAt }: AllocationRecord, attempt: string, now: Instant): Millis {
  const known = tasks.flatMap(({ attempts }) => attempts).find(({ id }) => id === attempt);
  return Math.max(0, now - (known?.startedAt ?? submittedAt));
}

/**
 * The stamps of a tail and of the bytes behind it. If only one of both has stamps, the other arrived at some
 * time before `mostMs`, and that is what its stamps then say.
 */
export function joinedStamps(
  tail: StampedBytes,
  more: StampedBytes,
  mostMs: Millis,
): PackedStamps | undefined {
  if (more.stamps === undefined && (tail.stamps === undefined || tail.bytes === 0)) return undefined;
  const before = tail.stamps ?? unknownTimes(tail.bytes, 0, more.stamps?.at(0)?.ms ?? mostMs);
  const after = more.stamps ?? unknownTimes(more.bytes, before.at(-1)?.ms ?? 0, mostMs);
  return packStamps(thinStamps([...before, ...after], MAX_TAIL_STAMPS));
}

/** Bytes of which only the time before and the time after are known. */
function unknownTimes(bytes: number, fromMs: Millis, toMs: Millis): Stamp[] {
  if (bytes === 0) return [];
  return [
    { bytes: 0, ms: fromMs },
    { bytes, ms: toMs },
  ];
}

/** How much a record stores for these stamps, in bytes. */
export function storedStampBytes(packed: PackedStamps | undefined): number {
  return ((packed?.length ?? 0) / 2) * STORED_STAMP_BYTES;
}
