// Which lines of a log begin or end a group (ui.md#groups)?
import type { Block } from "../bytes/block.ts";
import { bytesOf, type LogWindow } from "../bytes/window.ts";

/** What a marker does: it begins a group that is open or closed at first, or ends one. */
export type Mark = "open" | "closed" | "end";

/** A marker, and its row in the window. */
export interface Marker {
  row: number;
  /** The offset of its first byte. */
  at: number;
  mark: Mark;
}

/** Results of Go's tests begin like a group, and what follows them is what the reader wants to see. */
const MARKER = /^(?:(::group::)|(::endgroup::)|(--- (?!(?:FAIL|PASS|SKIP): )\S)|(\+\+\+ \S))/;
/** A marker is recognized by so many bytes. */
const MARKER_BYTES = "::endgroup::".length;
const ASCII = new TextDecoder("windows-1252");
const FIRST = new Set([..."-+:"].map((character) => character.charCodeAt(0)));

/** The markers of a window, in their order. A row that is no beginning of a line is none. */
export function markersOf(window: LogWindow): Marker[] {
  const found: Marker[] = [];
  const add = (row: number, at: number) => {
    const mark = markIn(bytesOf(window, at, at + MARKER_BYTES));
    if (mark !== undefined) found.push({ row, at, mark });
  };
  if (window.from === 0 && window.to > 0) add(0, 0);
  for (const [index, block] of window.blocks.entries()) {
    const before = window.endsBefore[index] ?? 0;
    for (const end of candidatesIn(block)) add(before + end + 1, block.from + (block.ends[end] ?? 0));
  }
  return found;
}

/** What a line does. Undefined: it is no marker. */
function markIn(line: Uint8Array): Mark | undefined {
  const [, group, end, closed, open] = MARKER.exec(ASCII.decode(line)) ?? [];
  if (open !== undefined) return "open";
  if (end !== undefined) return "end";
  return group === undefined && closed === undefined ? undefined : "closed";
}

/** Each block is looked at once, however often the window changes. */
const known = new WeakMap<Block, readonly number[]>();

/**
 * The row ends of a block, as indexes, after which a marker stands, or one might that goes on in the next
 * block.
 */
function candidatesIn(block: Block): readonly number[] {
  const before = known.get(block);
  if (before !== undefined) return before;
  const found: number[] = [];
  const { bytes, ends, isCut } = block;
  for (let index = 0; index < ends.length && !isCut; index++) {
    const at = ends[index] ?? 0;
    const goesOn = at + MARKER_BYTES > bytes.length;
    const isFirst = FIRST.has(bytes[at] ?? 0);
    if (goesOn || (isFirst && markIn(bytes.subarray(at, at + MARKER_BYTES)) !== undefined)) found.push(index);
  }
  known.set(block, found);
  return found;
}
