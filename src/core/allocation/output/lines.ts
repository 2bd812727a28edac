// At which offset of a stream is the number of its line known (api.md#lines)?
import { newlinesIn } from "../../../shared/output/newlines.ts";
import type { StreamRecord } from "../state.ts";

/** Stored bytes from `from` on. `lines`: the newlines of the stream before them; absent: nobody counted. */
export interface LineStretch {
  from: number;
  length: number;
  lines?: number | undefined;
}

/** The newlines before the tail of a stream. Undefined: its host has not counted all of them. */
export function linesBeforeTail({ stored, tail, lines }: StreamRecord): number | undefined {
  return stored === tail.length ? 0 : lines;
}

/** The newlines of a stream up to the end of its tail. Undefined: as for `linesBeforeTail`. */
export function linesWithTail(stream: StreamRecord): number | undefined {
  const before = linesBeforeTail(stream);
  return before === undefined ? undefined : before + newlinesIn(stream.tail);
}

/** The field of a stream's record. */
export function linesField(lines: number | undefined): Pick<StreamRecord, "lines"> {
  return lines === undefined ? {} : { lines };
}

/** The newlines after a chunk, if its host has counted them, and no more than there are bytes. */
export function linesAfterChunk(
  before: number | undefined,
  { lines, length }: { lines?: number | undefined; length: number },
): number | undefined {
  return before === undefined || lines === undefined || lines > length ? undefined : before + lines;
}

/**
 * The last stretch that begins before line number `line` (from 1 on) or with it, by bisection. Its number of
 * lines is known. `stretchAt`: the stretch with the byte at an offset. Undefined: there are no bytes.
 */
export function stretchOfLine(
  stretchAt: (offset: number) => LineStretch | undefined,
  size: number,
  line: number,
): LineStretch | undefined {
  let [low, high] = [0, size];
  let found = stretchAt(0);
  while (low < high) {
    const stretch = stretchAt(Math.floor((low + high) / 2));
    if (stretch === undefined) return found;
    // The line begins behind its newline, which is in this stretch or a later one.
    if (stretch.lines !== undefined && (stretch.from === 0 || stretch.lines < line - 1)) {
      found = stretch;
      low = stretch.from + stretch.length;
    } else high = stretch.from;
  }
  return found;
}
