// How does the header of an entry begin that entry in an archive?
import { Header, Pax } from "tar";

import {
  BLOCK_BYTES,
  CHECKSUM,
  checksumOf,
  type Field,
  MODE,
  MTIME,
  PATH,
  SIZE,
  TARGET,
  TYPE_AT,
  TYPES,
} from "./fields.ts";

const MAX_NUMBER = 0o77777777777;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** An entry without an owner. */
export interface EntryHeader {
  path: string;
  type: keyof typeof TYPES;
  /** Permission bits. */
  mode: number;
  /** In whole seconds. */
  mtime: number;
  linkpath?: string;
  size?: number;
}

/** The fields that are the same in each header, as the library writes them. */
const TEMPLATE = libraryHeader({ path: "", type: "File", mode: 0, mtime: 0 }).block;
const scratch = Buffer.alloc(BLOCK_BYTES);

/**
 * The header of an entry; before it, if values do not fit, an extended header. The bytes are valid until the
 * next call. They are those of the library `tar`, which takes ten times as long: it is asked only for what is
 * rare.
 */
export function headerOf(entry: EntryHeader): Buffer {
  if (!isUsual(entry)) return extended(entry);
  const { path, type, mode, mtime, linkpath = "", size = 0 } = entry;
  scratch.set(TEMPLATE);
  scratch.write(path, PATH.at, "latin1");
  writeOctal(MODE, mode);
  writeOctal(SIZE, size);
  writeOctal(MTIME, mtime);
  scratch.write(TYPES[type], TYPE_AT, "latin1");
  scratch.write(linkpath, TARGET.at, "latin1");
  writeOctal(CHECKSUM, checksumOf(scratch));
  return scratch;
}

/** Whether all values fit into the plain header as they are. */
function isUsual({ path, mtime, linkpath = "", size = 0 }: EntryHeader): boolean {
  const areShort = path.length < PATH.bytes && linkpath.length <= TARGET.bytes;
  return (
    areShort && PRINTABLE.test(path + linkpath) && mtime >= 0 && mtime <= MAX_NUMBER && size <= MAX_NUMBER
  );
}

function writeOctal({ at, bytes }: Field, value: number): void {
  const digits = value.toString(8);
  const text = digits.length === bytes - 1 ? digits : `${digits.padStart(bytes - 2, "0")} `;
  scratch.write(`${text}\0`, at, "latin1");
}

function extended(entry: EntryHeader): Buffer {
  const { block, needsMore } = libraryHeader(entry);
  if (!needsMore) return block;
  const { path, linkpath, mtime, size = 0 } = entry;
  return Buffer.concat([new Pax({ path, linkpath, mtime: new Date(mtime * 1_000), size }).encode(), block]);
}

function libraryHeader(entry: EntryHeader): { block: Buffer; needsMore: boolean } {
  const { mtime, size = 0 } = entry;
  const header = new Header({ ...entry, mtime: new Date(mtime * 1_000), size, uid: 0, gid: 0 });
  const block = Buffer.alloc(BLOCK_BYTES);
  const needsMore = header.encode(block);
  return { block, needsMore };
}
