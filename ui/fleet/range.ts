// Which time does the fleet's picture show (ui.md#d15), and where are its marks?
import type { Span } from "./past/machine.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A choice of time: its length, the way between two marks, and that between two rows of a table. */
export interface Range {
  word: string;
  lengthMs: number;
  markMs: number;
  rowMs: number;
}

const USUAL: Range = { word: "6h", lengthMs: 6 * HOUR_MS, markMs: HOUR_MS, rowMs: 10 * MINUTE_MS };

/** The choices. Rows are at most 50 (ui.md#d14). */
export const RANGES: readonly Range[] = [
  { word: "1h", lengthMs: HOUR_MS, markMs: 10 * MINUTE_MS, rowMs: 2 * MINUTE_MS },
  USUAL,
  { word: "24h", lengthMs: DAY_MS, markMs: 4 * HOUR_MS, rowMs: 30 * MINUTE_MS },
  { word: "7d", lengthMs: 7 * DAY_MS, markMs: DAY_MS, rowMs: 4 * HOUR_MS },
];

/** The range of this word; six hours if there is none. */
export function rangeOf(word: string): Range {
  return RANGES.find((range) => range.word === word) ?? USUAL;
}

/** Labels of marks are up to this wide, with room between them. */
const LABEL_PX = 48;

/** The way between two marks in a picture of this width: the range's own, or longer if labels would touch. */
export function markMsFor({ lengthMs, markMs }: Range, widthPx: number): number {
  let wayMs = markMs;
  while (wayMs < lengthMs && (wayMs / lengthMs) * widthPx < LABEL_PX) wayMs *= 2;
  return wayMs;
}

/** The round moments, in UTC, that have a mark. */
export function marksOf({ fromMs, toMs }: Span, markMs: number): number[] {
  const first = Math.ceil(fromMs / markMs) * markMs;
  const count = Math.max(0, Math.floor((toMs - first) / markMs) + 1);
  return Array.from({ length: count }, (_, index) => first + index * markMs);
}

/** A mark in words: `14:00`, or with marks of a day `27 Nov`. */
export function markText(atMs: number, markMs: number): string {
  const [, day, month, , time = ""] = new Date(atMs).toUTCString().split(" ");
  return markMs < DAY_MS ? time.slice(0, 5) : `${day} ${month}`;
}
