// In which order did the bytes of both streams arrive, and where does a stream begin that arrived since then?
import type { StreamName } from "../../../schema/host.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { type PackedStamps, unpackStamps } from "../../../shared/time/stamps.ts";

/** Stored bytes of a stream, from offset `from` on, with their stamps if there are any. */
export interface StoredStretch {
  from: number;
  length: number;
  stamps?: PackedStamps | undefined;
}

/**
 * Bytes of a stream, from offset `from` up to `to`, that arrived together at `at`, or at some time between
 * `after` and `at`. No `at`: their host has not said when they arrived. No `after`: it looked all the time.
 */
export interface Arrival {
  stream: StreamName;
  from: number;
  to: number;
  at: Instant | null;
  after: Instant | null;
}

/**
 * The arrivals of a stream from offset `from` on. Stamps count from the start of the attempt: without a start
 * no time is known.
 */
export function* arrivalsIn(
  stream: StreamName,
  stretches: Iterable<StoredStretch>,
  from: number,
  startedAt: Instant | null,
): Generator<Arrival> {
  for (const { from: begin, length, stamps } of stretches) {
    if (begin + length <= from) continue;
    if (stamps === undefined || startedAt === null) {
      yield { stream, from: Math.max(from, begin), to: begin + length, at: null, after: null };
      continue;
    }
    let to = begin;
    let after: Instant | null = null;
    for (const { bytes, ms } of unpackStamps(stamps)) {
      to += bytes;
      const at = startedAt + ms;
      if (to > from && bytes > 0) yield { stream, from: Math.max(from, to - bytes), to, at, after };
      after = bytes === 0 ? at : null;
    }
  }
}

/**
 * The arrivals of two streams in the order in which they arrived (api.md#arrivals). What arrived at the same
 * time comes from the first stream first. Bytes without a time come at once: what follows them came later.
 */
export function* inOrder(one: Iterator<Arrival>, other: Iterator<Arrival>): Generator<Arrival> {
  let [first, second] = [one.next(), other.next()];
  while (first.done !== true || second.done !== true) {
    const isFirst =
      second.done === true || (first.done !== true && timeOf(first.value) <= timeOf(second.value));
    if (isFirst && first.done !== true) {
      yield first.value;
      first = one.next();
    } else if (second.done !== true) {
      yield second.value;
      second = other.next();
    }
  }
}

/** The arrivals of an answer, and where the next answer goes on. */
export interface ArrivalsPage {
  items: Arrival[];
  next: Record<StreamName, number>;
}

/**
 * The first arrivals, at most `most`, and where the next page begins. `since`: only those that arrived then
 * or later, and those without a time. Once `isFull` holds, the page ends, but never before it has got on.
 */
export function pageOfArrivals(
  arrivals: Iterable<Arrival>,
  { from, since = Number.NEGATIVE_INFINITY, most, isFull = () => false }: Page,
): ArrivalsPage {
  const items: Arrival[] = [];
  const next = { ...from };
  for (const arrival of arrivals) {
    if (items.length >= most) break;
    next[arrival.stream] = arrival.to;
    if (arrival.at === null || arrival.at >= since) items.push(arrival);
    if (isFull()) break;
  }
  return { items, next };
}

interface Page {
  from: Record<StreamName, number>;
  since?: Instant | undefined;
  most: number;
  isFull?: () => boolean;
}

function timeOf({ at }: Arrival): Instant {
  return at ?? Number.NEGATIVE_INFINITY;
}

/**
 * The offset of the first stretch with bytes that arrived `sinceMs` after the start or later, or whose times
 * are not known; `size` if there is none. Looks at a few stretches only, since a log may have thousands.
 */
export function stretchSince(
  stretchAt: (offset: number) => StoredStretch | undefined,
  size: number,
  sinceMs: Millis,
): number {
  let [low, high] = [0, size];
  while (low < high) {
    const stretch = stretchAt(Math.floor((low + high) / 2));
    if (stretch === undefined) return low;
    const end = stretch.from + stretch.length;
    const lastMs = stretch.stamps === undefined ? sinceMs : (unpackStamps(stretch.stamps).at(-1)?.ms ?? 0);
    if (lastMs >= sinceMs) high = Math.max(low, stretch.from);
    else low = end;
  }
  return low;
}
