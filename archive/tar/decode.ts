// What does the header of an entry say?
import { Header, type Pax } from "tar";
import { ArchiveFault } from "../faults.ts";
import {
  CHECKSUM,
  checksumOf,
  type Field,
  MODE,
  MTIME,
  PATH,
  PREFIX_AT,
  SIZE,
  TARGET,
  TYPE_AT,
  TYPES,
} from "./fields.ts";

/** The types of nearly all entries, by their bytes. */
const USUAL_TYPES = new Map(Object.entries(TYPES).map(([type, code]) => [code.charCodeAt(0), type]));
const PRINTABLE = /^[\x20-\x7e]+$/;
const [BLANK, ZERO, EIGHT] = [0x20, 0x30, 0x38];

/** The types of headers that only say more of the entry behind them: what was said so far is not theirs. */
const EXTENDING = new Set(Buffer.from("xXgLKN"));

/** What extended headers say of an entry. */
export type Extension = Partial<Pick<Pax, "path" | "linkpath" | "size" | "mtime">>;

/** The fields of a header; undefined where it says nothing. */
export interface Decoded {
  type: string;
  path: string | undefined;
  linkpath: string | undefined;
  size: number | undefined;
  mode: number | undefined;
  mtime: Date | undefined;
}

/**
 * Reads the header at an offset. `next` and `all`: what extended headers have said of this entry, and of all.
 * "zeros": the block is part of the end mark. Throws an `ArchiveFault` if the header is damaged.
 */
export function decodeHeader(
  bytes: Buffer,
  at: number,
  next: Extension | undefined,
  all: Extension | undefined,
): Decoded | "zeros" {
  const usual = next === undefined && all === undefined ? decodeUsual(bytes, at) : undefined;
  if (usual !== undefined) return usual;
  const isEntry = !EXTENDING.has(bytes[at + TYPE_AT] ?? 0);
  const header = isEntry ? decodeByLibrary(bytes, at, next, all) : decodeByLibrary(bytes, at);
  if (header.nullBlock) return "zeros";
  if (!header.cksumValid) throw damaged("its checksum is wrong");
  const { type, size, mode, mtime } = header;
  return {
    ...{ type, size, mode, mtime },
    path: (isEntry ? next?.path : undefined) ?? header.path,
    linkpath: (isEntry ? next?.linkpath : undefined) ?? header.linkpath,
  };
}

/** The fault of an archive with such a header. */
export function damaged(why: string): ArchiveFault {
  return new ArchiveFault(`the header of an entry is damaged: ${why}`);
}

/**
 * Reads a header as nearly all entries have: a short name in ASCII, plain numbers, a right checksum.
 * Undefined for any other header. The library says the same of it, but takes ten times as long.
 */
function decodeUsual(bytes: Buffer, at: number): Decoded | undefined {
  const type = USUAL_TYPES.get(bytes[at + TYPE_AT] ?? 0);
  if (type === undefined || bytes[at + PREFIX_AT] !== 0) return undefined;
  const path = textAt(bytes, at, PATH);
  const linkpath = textAt(bytes, at, TARGET);
  const isText = PRINTABLE.test(path) && (linkpath === "" || PRINTABLE.test(linkpath));
  const mode = octalAt(bytes, at, MODE);
  const size = octalAt(bytes, at, SIZE);
  const mtime = octalAt(bytes, at, MTIME);
  if (!isText || mode === undefined || size === undefined || mtime === undefined) return undefined;
  if (octalAt(bytes, at, CHECKSUM) !== checksumOf(bytes, at)) return undefined;
  const isDirectory = type === "Directory" || (type === "File" && path.endsWith("/"));
  return {
    type: isDirectory ? "Directory" : type,
    path,
    linkpath,
    size: isDirectory ? 0 : size,
    mode,
    mtime: new Date(mtime * 1_000),
  };
}

function textAt(bytes: Buffer, from: number, { at, bytes: length }: Field): string {
  const begin = from + at;
  const nul = bytes.indexOf(0, begin);
  const end = nul < 0 ? begin + length : Math.min(nul, begin + length);
  return bytes.toString("latin1", begin, end);
}

/** An octal number that ends with a blank or a NUL. */
function octalAt(bytes: Buffer, from: number, { at, bytes: length }: Field): number | undefined {
  let value = 0;
  for (let index = 0; index < length; index += 1) {
    const byte = bytes[from + at + index] ?? 0;
    if (byte >= ZERO && byte < EIGHT) value = value * 8 + (byte - ZERO);
    else return index > 0 && (byte === 0 || byte === BLANK) ? value : undefined;
  }
  return undefined;
}

function decodeByLibrary(bytes: Buffer, at: number, next?: Extension, all?: Extension): Header {
  try {
    return new Header(bytes, at, asPax(next), asPax(all));
  } catch (error) {
    throw damaged(error instanceof Error ? error.message : String(error));
  }
}

/** What extended headers have said, as the library takes it. */
function asPax(extension: Extension | undefined): Pax | undefined {
  // The library takes the fields that are there; its type demands all of them.
  return extension as Pax | undefined;
}
