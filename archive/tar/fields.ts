// Where are the fields of a header (POSIX `ustar`)?

/** A header fills one block, and so does the last part of a content. */
export const BLOCK_BYTES = 512;

/** A field: where it begins in the header, and its length. */
export interface Field {
  at: number;
  bytes: number;
}

export const PATH: Field = { at: 0, bytes: 100 };
export const MODE: Field = { at: 100, bytes: 8 };
export const SIZE: Field = { at: 124, bytes: 12 };
export const MTIME: Field = { at: 136, bytes: 12 };
export const CHECKSUM: Field = { at: 148, bytes: 8 };
export const TYPE_AT = 156;
export const TARGET: Field = { at: 157, bytes: 100 };
export const PREFIX_AT = 345;

/** The types of entries that are packed. */
export const TYPES = { File: "0", Link: "1", SymbolicLink: "2", Directory: "5" } as const;

const BLANK = 0x20;

/** The sum of all bytes of a header, with blanks in the place of the sum itself. */
export function checksumOf(bytes: Buffer, from = 0): number {
  let sum = CHECKSUM.bytes * BLANK;
  for (let at = from; at < from + BLOCK_BYTES; at += 1) sum += bytes[at] ?? 0;
  for (let at = 0; at < CHECKSUM.bytes; at += 1) sum -= bytes[from + CHECKSUM.at + at] ?? 0;
  return sum;
}
