// Which bytes of a log are in memory, and which rows do they have? A window is a value: changes make another.
import { BLOCK_BYTES, type Block, blockOf, blockStart } from "./block.ts";
import { joined } from "./joined.ts";
import { countOf } from "./sorted.ts";

/** How many bytes of a log are kept in memory (ui.md#d6). */
export const MAX_WINDOW_BYTES = 32 * 1024 * 1024;

/** The bytes `from` up to `to` of a log. */
export interface LogWindow {
  readonly from: number;
  readonly to: number;
  readonly blocks: readonly Block[];
  /** How many rows end before each block, counted from the window's beginning; and in all. */
  readonly endsBefore: readonly number[];
  /** How many newlines the log has before the window; undefined: nobody has counted them. */
  readonly newlinesBefore: number | undefined;
}

/** How many newlines a log has before the byte `at`. It stays true, because a log only grows. */
export interface NewlineCount {
  at: number;
  newlines: number;
}

/** A window without bytes, which begins at this offset or at the next smaller multiple of a block. */
export function emptyWindow(at = 0): LogWindow {
  const from = blockStart(at);
  return windowOf(from, [], from === 0 ? 0 : undefined);
}

/** How many rows there are. What follows the last newline is a row, too. */
export function rowCount({ blocks, endsBefore, to }: LogWindow): number {
  const ended = endsBefore.at(-1) ?? 0;
  const last = blocks.at(-1);
  if (last === undefined) return 0;
  return lastEnd(blocks) === to ? ended : ended + 1;
}

/** The bytes of a row: `from` up to `to`, its newline included. Throws if there is no such row. */
export function rowBytes(window: LogWindow, row: number): { from: number; to: number } {
  const count = rowCount(window);
  if (row < 0 || row >= count) throw new RangeError(`there is no row ${row} among ${count}`);
  const from = row === 0 ? window.from : endOf(window, row - 1);
  return { from, to: endOf(window, row) };
}

/** The row that has this byte. A byte before the window is in its first row, one after it in its last. */
export function rowAt(window: LogWindow, offset: number): number {
  const { blocks, endsBefore } = window;
  const index = Math.floor((offset - window.from) / BLOCK_BYTES);
  if (index < 0) return 0;
  const block = blocks[index];
  const last = Math.max(0, rowCount(window) - 1);
  if (block === undefined) return last;
  return Math.min(last, (endsBefore[index] ?? 0) + countOf(block.ends, (end) => end <= offset - block.from));
}

/**
 * The number of the line that a row belongs to, from 1. Undefined if nobody has counted the lines before the
 * window.
 */
export function lineNumber({ newlinesBefore, blocks, endsBefore }: LogWindow, row: number) {
  if (newlinesBefore === undefined) return undefined;
  const index = blockOfEnd(endsBefore, row);
  let cuts = 0;
  for (let i = 0; i < Math.min(index, blocks.length); i++) if (blocks[i]?.isCut === true) cuts += 1;
  return newlinesBefore + row - cuts + 1;
}

/**
 * The window with numbers for its lines, if the count is about one of its bytes, or about its end
 * (ui.md#log-rows). A count that is less than the window's own newlines up to there is not believed.
 */
export function withNewlines(window: LogWindow, { at, newlines }: NewlineCount): LogWindow {
  const { from, to, blocks, newlinesBefore } = window;
  if (newlinesBefore !== undefined || at < from || at > to) return window;
  const before = newlines - newlinesUpTo(blocks, at);
  return before < 0 ? window : windowOf(from, blocks, before);
}

/** Whether a row is the rest of a line that began in the row before. */
export function isContinued(window: LogWindow, row: number): boolean {
  if (row === 0) return false;
  const block = window.blocks[blockOfEnd(window.endsBefore, row - 1)];
  return block?.isCut === true;
}

/** A copy of the bytes `from` up to `to`, as far as the window has them. */
export function bytesOf({ blocks, ...window }: LogWindow, from: number, to: number): Uint8Array {
  const begin = Math.max(from, window.from);
  const end = Math.min(to, window.to);
  const found = new Uint8Array(Math.max(0, end - begin));
  const first = Math.floor((begin - window.from) / BLOCK_BYTES);
  for (let i = first; i < blocks.length; i++) {
    const block = blocks[i];
    if (block === undefined || block.from >= end) break;
    const piece = block.bytes.subarray(Math.max(0, begin - block.from), end - block.from);
    found.set(piece, Math.max(0, block.from - begin));
  }
  return found;
}

/**
 * Adds bytes at the end. Bytes that the window has already are left out (ui.md#d5). Throws if bytes are
 * missing in between.
 */
export function append(window: LogWindow, offset: number, bytes: Uint8Array): LogWindow {
  if (offset > window.to) {
    throw new RangeError(`the window ends at byte ${window.to}, and the next bytes begin at ${offset}`);
  }
  const fresh = bytes.subarray(window.to - offset);
  if (fresh.length === 0) return window;
  const blocks = [...window.blocks];
  const last = blocks.at(-1);
  let from = window.to;
  let rest = fresh;
  if (last !== undefined && last.bytes.length < BLOCK_BYTES) {
    blocks.pop();
    from = last.from;
    rest = joined([last.bytes, fresh], last.bytes.length + fresh.length);
  }
  for (const block of blocksOf(from, rest)) blocks.push(block);
  return windowOf(window.from, blocks, window.newlinesBefore);
}

/**
 * Adds bytes before the window. They must begin at a multiple of a block, and end where the window begins.
 * Throws if they do not.
 */
export function prepend(window: LogWindow, offset: number, bytes: Uint8Array): LogWindow {
  if (offset !== blockStart(offset) || offset + bytes.length !== window.from) {
    const found = `${offset} to ${offset + bytes.length}`;
    throw new RangeError(`the window begins at byte ${window.from}: bytes ${found} do not join it`);
  }
  const blocks = [...blocksOf(offset, bytes)];
  const known = window.newlinesBefore;
  const counted = known === undefined ? undefined : known - newlinesIn(blocks);
  return windowOf(offset, [...blocks, ...window.blocks], offset === 0 ? 0 : counted);
}

/**
 * Drops whole blocks at one side until at most `most` bytes are left (ui.md#d6). The lines that were dropped
 * at the beginning stay counted.
 */
export function dropped(window: LogWindow, side: "start" | "end", most = MAX_WINDOW_BYTES): LogWindow {
  const excess = window.to - window.from - most;
  if (excess <= 0) return window;
  const count = Math.ceil(excess / BLOCK_BYTES);
  if (side === "end") return windowOf(window.from, window.blocks.slice(0, -count), window.newlinesBefore);
  const gone = window.blocks.slice(0, count);
  const { newlinesBefore, from } = window;
  const counted = newlinesBefore === undefined ? undefined : newlinesBefore + newlinesIn(gone);
  return windowOf(from + count * BLOCK_BYTES, window.blocks.slice(count), counted);
}

function windowOf(from: number, blocks: readonly Block[], newlinesBefore: number | undefined): LogWindow {
  const endsBefore = [0];
  for (const { ends } of blocks) endsBefore.push((endsBefore.at(-1) ?? 0) + ends.length);
  const last = blocks.at(-1);
  const to = last === undefined ? from : last.from + last.bytes.length;
  return { from, to, blocks, endsBefore, newlinesBefore };
}

function* blocksOf(from: number, bytes: Uint8Array): Generator<Block> {
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    // A copy: a block must not keep the whole answer in memory.
    yield blockOf(from + at, bytes.slice(at, at + BLOCK_BYTES));
  }
}

function newlinesIn(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { ends, isCut }) => sum + (isCut ? 0 : ends.length), 0);
}

/** The newlines of blocks before the byte `at`. */
function newlinesUpTo(blocks: readonly Block[], at: number): number {
  let count = 0;
  for (const { from, ends, isCut } of blocks) {
    if (from >= at) break;
    if (!isCut) count += countOf(ends, (end) => end <= at - from);
  }
  return count;
}

/** The offset after the last row that has ended. */
function lastEnd(blocks: readonly Block[]): number {
  for (let i = blocks.length - 1; i >= 0; i--) {
    const block = blocks[i];
    const end = block?.ends.at(-1);
    if (block !== undefined && end !== undefined) return block.from + end;
  }
  return -1;
}

/** The offset after a row. */
function endOf({ blocks, endsBefore, to }: LogWindow, row: number): number {
  const index = blockOfEnd(endsBefore, row);
  const block = blocks[index];
  const end = block?.ends[row - (endsBefore[index] ?? 0)];
  return block === undefined || end === undefined ? to : block.from + end;
}

/** The index of the block in which a row ends; the number of blocks if it has not ended. */
function blockOfEnd(endsBefore: readonly number[], row: number): number {
  let low = 0;
  let high = endsBefore.length - 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((endsBefore[middle + 1] ?? 0) > row) high = middle;
    else low = middle + 1;
  }
  return low;
}
