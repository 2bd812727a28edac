// How do lines of both streams become one text, and which line has a byte of this text?
import { joined } from "../bytes/joined.ts";
import type { StreamLine } from "./merge.ts";

const NEWLINE = 0x0a;
const ESCAPE = 0x1b;
const END = Uint8Array.of(NEWLINE);
/** Ends colors, so that a line of one stream does not color the next one of the other. */
const PLAIN_END = new TextEncoder().encode("\u001b[0m\n");

/** A line of a stream, and where it begins in the merged text. */
export type MergedLine = Omit<StreamLine, "bytes"> & { begin: number };

/** The lines as text, and where each of them begins, if the text begins at `begin`. */
export function mergedText(
  lines: readonly StreamLine[],
  begin: number,
): { bytes: Uint8Array; lines: MergedLine[] } {
  const pieces: Uint8Array[] = [];
  const merged: MergedLine[] = [];
  let length = 0;
  for (const { bytes, ...line } of lines) {
    merged.push({ ...line, begin: begin + length });
    const text = bytes.at(-1) === NEWLINE ? bytes.subarray(0, -1) : bytes;
    const end = text.includes(ESCAPE) ? PLAIN_END : END;
    pieces.push(text, end);
    length += text.length + end.length;
  }
  return { bytes: joined(pieces, length), lines: merged };
}

/** The index of the line that has a byte of the merged text; -1 if it is before all of them. */
export function lineIndexAt(lines: readonly MergedLine[], offset: number): number {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((lines[middle]?.begin ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
