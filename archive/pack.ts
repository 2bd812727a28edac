// How does a list of files become a reproducible tar archive?
import { createHash } from "node:crypto";
import { constants, createWriteStream } from "node:fs";
import { type FileHandle, lstat, open, readlink, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { Header, Pax } from "tar";
import { Beneath } from "./beneath.ts";
import { FileCount } from "./count.ts";
import { entryFault } from "./entries.ts";
import { ArchiveFault } from "./faults.ts";
import { choiceOf, readGlobs } from "./globs.ts";
import { walk } from "./walk.ts";

const BLOCK_BYTES = 512;
const READ_BYTES = 256 * 1024;
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

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
    await pipeline(archiveOf(what), createGzip(), measure, out, { signal });
  } catch (error) {
    await rm(intoFile, { force: true });
    signal.throwIfAborted();
    throw error;
  }
  return { sha256: hash.digest("hex"), files: count.files, bytes };

  async function* archiveOf(packable: Packable) {
    const top = await Beneath.open(packable.root);
    try {
      const packer = new Packer(top, bounds, count);
      for await (const path of pathsOf(packable, top, signal)) {
        signal.throwIfAborted();
        for await (const piece of packer.entry(path)) {
          onProgress();
          yield piece;
        }
      }
    } finally {
      await top.close();
    }
    yield Buffer.alloc(2 * BLOCK_BYTES);
  }
}

function pathsOf(what: Packable, top: Beneath, signal: AbortSignal): AsyncIterable<string> | string[] {
  if ("globs" in what) return walk(top, choiceOf(readGlobs(what.globs)), signal);
  return [...new Set(what.files)].sort();
}

/** Turns paths into entries of a tar archive. */
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

  constructor(top: Beneath, bounds: PackBounds, count: FileCount) {
    this.#top = top;
    this.#bounds = bounds;
    this.#count = count;
  }

  async *entry(path: string): AsyncGenerator<Buffer> {
    this.#entries += 1;
    if (this.#entries > this.#bounds.entries) {
      throw new ArchiveFault(`there are more than ${this.#bounds.entries} files`);
    }
    const found = await this.#top.with(path, (name) => lstat(name));
    this.#count.add(path, found.isDirectory());
    if (found.isSymbolicLink()) yield* link(path, await targetOf(path, this.#top), "SymbolicLink", found);
    else if (found.isDirectory()) yield* directory(path, found);
    else if (found.isFile()) yield* this.#file(path);
    else throw new ArchiveFault(`"${path}" is neither a file, a directory nor a link`);
  }

  async *#file(path: string): AsyncGenerator<Buffer> {
    const handle = await openFile(path, this.#top);
    try {
      const { dev, ino, nlink } = await handle.stat({ bigint: true });
      const found = await handle.stat();
      const first = nlink > 1n ? this.#names.get(`${dev} ${ino}`) : undefined;
      if (first !== undefined) return yield* link(path, first, "Link", found);
      if (nlink > 1n) this.#names.set(`${dev} ${ino}`, path);
      this.#contents += found.size;
      if (this.#contents > this.#bounds.contents) {
        throw new ArchiveFault(`the files have more than ${this.#bounds.contents} bytes`);
      }
      yield* headers({ ...metaOf(found), path, type: "File", size: found.size });
      yield* contentOf(handle, path, found.size);
    } finally {
      await handle.close();
    }
  }
}

/** The target of a symbolic link. It must be UTF-8: other bytes could not be restored. */
async function targetOf(path: string, top: Beneath): Promise<string> {
  const bytes = await top.with(path, (name) => readlink(name, "buffer"));
  const target = bytes.toString("utf8");
  if (Buffer.from(target).equals(bytes)) return target;
  throw new ArchiveFault(`the target of the link "${path}" is not UTF-8`);
}

/**
 * The header of a directory, without its time: the time changes with each new file in the directory, but the
 * same files must give the same archive.
 */
function directory(path: string, found: Parameters<typeof metaOf>[0]): Generator<Buffer> {
  return headers({ ...metaOf(found), mtime: new Date(0), path: `${path}/`, type: "Directory" });
}

/** Opens a file for reading, if it still is a file: a task may replace it at any moment. */
async function openFile(path: string, top: Beneath): Promise<FileHandle> {
  const handle = await top.with(path, (name) => open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw changed(path);
}

async function* contentOf(handle: FileHandle, path: string, size: number): AsyncGenerator<Buffer> {
  for (let left = size; left > 0; ) {
    const part = Buffer.allocUnsafe(Math.min(READ_BYTES, left));
    const { bytesRead } = await handle.read(part, 0, part.length, null);
    if (bytesRead === 0) throw changed(path);
    left -= bytesRead;
    yield part.subarray(0, bytesRead);
  }
  const over = size % BLOCK_BYTES;
  if (over > 0) yield Buffer.alloc(BLOCK_BYTES - over);
}

function changed(path: string): ArchiveFault {
  return new ArchiveFault(`"${path}" has changed while it was being packed`);
}

type Meta = Pick<Entry, "mode" | "mtime">;

function metaOf({ mode, mtimeMs }: { mode: number; mtimeMs: number }): Meta {
  return { mode: mode & 0o777, mtime: new Date(Math.floor(mtimeMs / 1_000) * 1_000) };
}

function* link(
  path: string,
  linkpath: string,
  type: "Link" | "SymbolicLink",
  found: Parameters<typeof metaOf>[0],
): Generator<Buffer> {
  // Unpacking does not restore the time of a symbolic link, so packing it again would give another archive.
  const time = type === "Link" ? {} : { mtime: new Date(0) };
  yield* headers({ ...metaOf(found), ...time, path, linkpath, type });
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
function* headers(entry: Entry): Generator<Buffer> {
  const { path, linkpath, mtime, size = 0 } = entry;
  const fault = entryFault(entry);
  if (fault !== undefined) throw new ArchiveFault(fault);
  const header = new Header({ ...entry, size, uid: 0, gid: 0 });
  const block = Buffer.alloc(BLOCK_BYTES);
  if (header.encode(block)) yield new Pax({ path, linkpath, mtime, size }).encode();
  yield block;
}
