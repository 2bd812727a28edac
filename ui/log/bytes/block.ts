// Which rows end in a block of a log? Each block is judged by itself, so that blocks can come in any order.

/** How many bytes a block has. Blocks begin at multiples of this. */
export const BLOCK_BYTES = 16 * 1024;
const NEWLINE = 0x0a;
/** A character of UTF-8 has at most this many bytes after its first one. */
const MAX_CONTINUATION = 3;

/** A stretch of a log. Only the last block of a window may have fewer than `BLOCK_BYTES`. */
export interface Block {
  /** The offset of the first byte in the log: a multiple of `BLOCK_BYTES`. */
  from: number;
  bytes: Uint8Array;
  /** Where rows end, from the block's beginning: the offsets after each of its newlines, or a cut. */
  ends: Uint32Array;
  /** Whether its only end is a cut, because it is full and has no newline. */
  isCut: boolean;
}

/** The offset of the block that has this byte. */
export function blockStart(offset: number): number {
  return offset - (offset % BLOCK_BYTES);
}

/**
 * Makes a block, and finds its rows (ui.md#d9). A row ends after a newline. A full block without a newline
 * ends a row, too: one line of a gigabyte must not become one row.
 */
export function blockOf(from: number, bytes: Uint8Array): Block {
  const ends: number[] = [];
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) ends.push(at + 1);
  const isCut = ends.length === 0 && bytes.length === BLOCK_BYTES;
  if (isCut) ends.push(lastCharacter(bytes));
  return { from, bytes, ends: Uint32Array.from(ends), isCut };
}

/** The end of the last character that the bytes have completely, as far as this can be told. */
function lastCharacter(bytes: Uint8Array): number {
  for (let back = 1; back <= MAX_CONTINUATION; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return bytes.length - back;
    if (byte < 0x80) break;
  }
  return bytes.length;
}
