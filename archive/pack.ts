// How does a list of files become a reproducible tar archive?
import { createHash } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  constants,
  createWriteStream,
  fstatSync,
  lstatSync,
  openSync,
  read,
  readlinkSync,
  readSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { Header, Pax } from "tar";
import { Beneath } from "./beneath.ts";
import { FileCount } from "./count.ts";
import { entryFault } from "./entries.ts";
import { ArchiveFault } from "./faults.ts";
import { choiceOf, readGlobs } from "./globs.ts";
import { gzipped } from "./gzip/gzip.ts";
import { Pieces } from "./gzip/pieces.ts";
import { Turns } from "./turns.ts";
import { walk } from "./walk.ts";

const BLOCK_BYTES = 512;
/** The archive is compressed in pieces of this size. */
const PIECE_BYTES = 1024 * 1024;
/** A file of at most this size is read at once, without waiting. */
const SMALL_BYTES = 64 * 1024;
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const readAsync = promisify(read);

/** How large an archive may become. */
export interface PackBounds {
  /** The size of the archive itself. */
  bytes: number;
  /** The total size of the files in it. */
  contents: number;
  entries: number;
}

/**
 * What to pack below `root`: either all matches of the globs with everything below them, or exactly the
 * files, links and directories in a list. Paths use slashes.
 */
export type Packable = { root: string } & ({ globs: readonly string[] } | { files: readonly string[] });

/** A new archive. `files` counts links and empty directories, too. */
export interface PackResult {
  sha256: string;
  bytes: number;
  files: number;
}

/**
 * Packs files, links and directories into a new archive (tar, gzip): in a fixed order, with modes and times,
 * without owners, so that the same files give the same archive. Whatever is packed can be unpacked: a link
 * that leads out of the directory is a fault. Nothing is read through a link. `onProgress` is called for each
 * piece. Throws an `ArchiveFault`, the system's error, or the reason of the signal, and then leaves no file.
 */
export async function pack(
  what: Packable,
  intoFile: string,
  signal: AbortSignal,
  bounds: PackBounds,
  onProgress: () => void = () => undefined,
): Promise<PackResult> {
  const hash = createHash("sha256");
  let bytes = 0;
  const count = new FileCount();
  async function* measure(source: AsyncIterable<Buffer>) {
    for await (const part of source) {
      bytes += part.length;
      if (bytes > bounds.bytes) {
        throw new ArchiveFault(`the archive would be larger than ${bounds.bytes} bytes`);
      }
      hash.update(part);
      yield part;
    }
  }
  try {
    const out = createWriteStream(intoFile, { mode: 0o600 });
    await pipeline(archiveOf(what), gzipped, measure, out, { signal });
  } catch (error) {
    await rm(intoFile, { force: true });
    signal.throwIfAborted();
    throw error;
  }
  return { sha256: hash.digest("hex"), files: count.files, bytes };

  async function* archiveOf(packable: Packable): AsyncGenerator<Buffer> {
    const top = Beneath.open(packable.root);
    try {
      const packer = new Packer(top, bounds, count);
      const turns = new Turns(signal);
      for await (const path of pathsOf(packable, top, signal)) {
        await turns.next();
        for await (const piece of packer.entry(path)) {
          onProgress();
          yield piece;
        }
        onProgress();
      }
      yield* packer.end();
    } finally {
      top.close();
    }
  }
}

function pathsOf(what: Packable, top: Beneath, signal: AbortSignal): AsyncIterable<string> | string[] {
  if ("globs" in what) return walk(top, choiceOf(readGlobs(what.globs)), signal);
  return [...new Set(what.files)].sort();
}

/** Turns paths into the bytes of a tar archive, in pieces of `PIECE_BYTES`. */
class Packer {
  readonly #top: Beneath;
  readonly #bounds: PackBounds;
  readonly #count: FileCount;
  /**
   * The first path of each file with several names, by device and inode: other names become links to that
   * path.
   */
  readonly #names = new Map<string, string>();
  #entries = 0;
  #contents = 0;
  readonly #pieces = new Pieces(PIECE_BYTES);

  constructor(top: Beneath, bounds: PackBounds, count: FileCount) {
    this.#top = top;
    this.#bounds = bounds;
    this.#count = count;
  }

  /** Adds an entry. Yields each piece that it completes. */
  async *entry(path: string): AsyncGenerator<Buffer> {
    this.#entries += 1;
    if (this.#entries > this.#bounds.entries) {
      throw new ArchiveFault(`there are more than ${this.#bounds.entries} files`);
    }
    const found = this.#top.with(path, (name) => lstatSync(name));
    this.#count.add(path, found.isDirectory());
    if (found.isSymbolicLink()) yield* this.#link(path, targetOf(path, this.#top), "SymbolicLink", found);
    else if (found.isDirectory()) yield* this.#pieces.add(directory(path, found));
    else if (found.isFile()) yield* this.#file(path);
    else throw new ArchiveFault(`"${path}" is neither a file, a directory nor a link`);
  }

  /** The mark of the end. */
  *end(): Generator<Buffer> {
    yield* this.#pieces.add(Buffer.alloc(2 * BLOCK_BYTES));
    if (this.#pieces.rest.length > 0) yield this.#pieces.rest;
  }

  async *#file(path: string): AsyncGenerator<Buffer> {
    const fd = openFile(path, this.#top);
    try {
      const found = fstatSync(fd, { bigint: true });
      if (!found.isFile()) throw changed(path);
      const meta = { mode: Number(found.mode), mtimeMs: Number(found.mtimeNs / 1_000_000n) };
      const first = this.#firstName(path, found);
      if (first !== undefined) return yield* this.#link(path, first, "Link", meta);
      const size = Number(found.size);
      this.#contents += size;
      if (this.#contents > this.#bounds.contents) {
        throw new ArchiveFault(`the files have more than ${this.#bounds.contents} bytes`);
      }
      yield* this.#pieces.add(headers({ ...metaOf(meta), path, type: "File", size }));
      yield* this.#content(fd, path, size);
    } finally {
      closeSync(fd);
    }
  }

  /** Under which name a file is in the archive already. Undefined: it is not. */
  #firstName(path: string, { dev, ino, nlink }: BigIntStats): string | undefined {
    if (nlink <= 1n) return undefined;
    const key = `${dev} ${ino}`;
    const first = this.#names.get(key);
    if (first === undefined) this.#names.set(key, path);
    return first;
  }

  async *#content(fd: number, path: string, size: number): AsyncGenerator<Buffer> {
    for (let left = size; left > 0; ) {
      const { room } = this.#pieces;
      const most = Math.min(room.length, left);
      const bytes = size <= SMALL_BYTES ? readSync(fd, room, 0, most, null) : await readSome(fd, room, most);
      if (bytes === 0) throw changed(path);
      left -= bytes;
      const full = this.#pieces.wrote(bytes);
      if (full !== undefined) yield full;
    }
    const over = size % BLOCK_BYTES;
    if (over > 0) yield* this.#pieces.add(Buffer.alloc(BLOCK_BYTES - over));
  }

  #link(
    path: string,
    linkpath: string,
    type: "Link" | "SymbolicLink",
    found: Parameters<typeof metaOf>[0],
  ): Generator<Buffer> {
    // Unpacking does not restore the time of a symbolic link, so packing it again would give another archive.
    const time = type === "Link" ? {} : { mtime: new Date(0) };
    return this.#pieces.add(headers({ ...metaOf(found), ...time, path, linkpath, type }));
  }
}

async function readSome(fd: number, into: Buffer, most: number): Promise<number> {
  return (await readAsync(fd, into, 0, most, null)).bytesRead;
}

/** The target of a symbolic link. It must be UTF-8: other bytes could not be restored. */
function targetOf(path: string, top: Beneath): string {
  const bytes = top.with(path, (name) => readlinkSync(name, "buffer"));
  const target = bytes.toString("utf8");
  if (Buffer.from(target).equals(bytes)) return target;
  throw new ArchiveFault(`the target of the link "${path}" is not UTF-8`);
}

/**
 * The header of a directory, without its time: the time changes with each new file in the directory, but the
 * same files must give the same archive.
 */
function directory(path: string, found: Parameters<typeof metaOf>[0]): Buffer {
  return headers({ ...metaOf(found), mtime: new Date(0), path: `${path}/`, type: "Directory" });
}

/** Opens a file for reading: a task may have put something else in its place, which never blocks. */
function openFile(path: string, top: Beneath): number {
  return top.with(path, (name) => openSync(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
}

function changed(path: string): ArchiveFault {
  return new ArchiveFault(`"${path}" has changed while it was being packed`);
}

type Meta = Pick<Entry, "mode" | "mtime">;

function metaOf({ mode, mtimeMs }: { mode: number; mtimeMs: number }): Meta {
  return { mode: mode & 0o777, mtime: new Date(Math.floor(mtimeMs / 1_000) * 1_000) };
}

interface Entry {
  path: string;
  type: "File" | "Directory" | "Link" | "SymbolicLink";
  mode: number;
  mtime: Date;
  linkpath?: string;
  size?: number;
}

/** The header of an entry, with an extended header before it for values that do not fit the old format. */
function headers(entry: Entry): Buffer {
  const { path, linkpath, mtime, size = 0 } = entry;
  const fault = entryFault(entry);
  if (fault !== undefined) throw new ArchiveFault(fault);
  const header = new Header({ ...entry, size, uid: 0, gid: 0 });
  const block = Buffer.alloc(BLOCK_BYTES);
  if (!header.encode(block)) return block;
  return Buffer.concat([new Pax({ path, linkpath, mtime, size }).encode(), block]);
}
