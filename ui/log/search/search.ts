// How far has a search come, and what did it find?
import { formatSize } from "../../../src/shared/size.ts";
import { joined } from "../bytes/joined.ts";
import type { Hit, Needle } from "./needle.ts";

/** So many hits can be visited. Others are counted. */
export const MAX_VISITED_HITS = 100_000;
/** A line without an end is searched in pieces, which overlap by this many bytes. */
const MAX_OVERLAP = 64 * 1024;
const NEWLINE = 0x0a;

/** What a search has found so far. */
export interface Results {
  /** The bytes that were searched: `from` up to `to`. */
  from: number;
  to: number;
  count: number;
  /** The first hits, at most `MAX_VISITED_HITS`. A search goes on in the same list. */
  hits: Hit[];
}

/** A search in bytes that come in their order. */
export interface Search extends Results {
  /** The beginning of a line whose end has not come; of a very long one its last part. */
  rest: Uint8Array;
  /** Hits that end here or before are counted. */
  countedTo: number;
}

/** What a search has found in its next bytes. */
export interface Progress {
  to: number;
  /** Where the line begins whose end has not come: another search can go on from here. */
  goesOnAt: number;
  /** How many hits are new, and those of them that can be visited. */
  count: number;
  hits: Hit[];
}

/** A search that begins at this offset. */
export function newSearch(from: number): Search {
  return { from, to: from, count: 0, hits: [], rest: new Uint8Array(), countedTo: from };
}

/**
 * Goes on with the next bytes (ui.md#d7). The last line is searched when it ends, or by `isLast`, so that no
 * hit is counted twice or cut in two.
 */
export function searched(search: Search, needle: Needle, bytes: Uint8Array, isLast = false): Search {
  const text = joined([search.rest, bytes], search.rest.length + bytes.length);
  const base = search.to - search.rest.length;
  const whole = isLast ? text.length : endOfLines(text);
  const isCut = !isLast && whole === text.length && text.at(-1) !== NEWLINE;
  const rest = text.slice(isCut ? Math.max(0, whole - MAX_OVERLAP) : whole);
  const next = { ...search, to: search.to + bytes.length, rest, countedTo: base + whole };
  for (const hit of needle(text.subarray(0, whole), base)) {
    if (hit.to <= search.countedTo) continue;
    next.count += 1;
    if (next.hits.length < MAX_VISITED_HITS) next.hits.push(hit);
  }
  return next;
}

/** Takes what was found in the next bytes. */
export function withProgress(results: Results, { to, count, hits }: Progress): Results {
  const { hits: known } = results;
  const free = MAX_VISITED_HITS - known.length;
  for (const hit of hits.slice(0, free)) known.push(hit);
  return { ...results, to, count: results.count + count };
}

/**
 * What a search says of itself: how much it found, and in how many of the log's bytes (ui.md#d7). `size`: how
 * many bytes the log has so far; undefined: that is not known.
 */
export function searchText({ from, to, count, hits }: Results, size: number | undefined): string {
  const found = `${count.toLocaleString("en")} ${count === 1 ? "hit" : "hits"}`;
  const of = size === undefined ? "" : ` of ${formatSize(size)}`;
  const isWhole = size !== undefined && to - from >= size;
  const where = isWhole ? "in the whole log" : `in ${formatSize(to - from)}${of}, bytes ${from} to ${to}`;
  const visited = count > hits.length ? `; the first ${hits.length.toLocaleString("en")} can be visited` : "";
  return `${found} ${where}${visited}`;
}

/** The hit after a byte, or the one before; at the end it begins again. */
export function nextHit({ hits }: Pick<Results, "hits">, offset: number, step: 1 | -1): Hit | undefined {
  if (step === 1) return hits.find(({ from }) => from > offset) ?? hits[0];
  return hits.findLast(({ from }) => from < offset) ?? hits.at(-1);
}

/** The offset after the last newline. A very long line is cut, too. */
function endOfLines(text: Uint8Array): number {
  const end = text.lastIndexOf(NEWLINE) + 1;
  return text.length - end > MAX_OVERLAP ? text.length : end;
}
