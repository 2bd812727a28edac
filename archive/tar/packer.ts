// How do files, links and directories become the bytes of a tar archive?
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  read,
  readlinkSync,
  readSync,
} from "node:fs";
import { promisify } from "node:util";
import type { Beneath } from "../beneath.ts";
import type { Pieces } from "../compression/pieces.ts";
import type { FileCount } from "../count.ts";
import { entryFault } from "../entries.ts";
import { ArchiveFault } from "../faults.ts";
import type { Found } from "../walk.ts";
import { BLOCK_BYTES } from "./fields.ts";
import { type EntryHeader, headerOf } from "./header.ts";

const ZEROS = Buffer.alloc(2 * BLOCK_BYTES);
/** A file of at most this size is read at once, without waiting. */
const SMALL_BYTES = 64 * 1024;
const PERMISSION_BITS = 0o777;
const NS_PER_S = 1_000_000_000n;
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const readAsync = promisify(read);

/** How much may be packed. */
export interface ContentBounds {
  /** The total size of the files. */
  contents: number;
  entries: number;
}

/** A file whose content is not in the archive yet. It must be read to its end, or closed. */
interface OpenFile {
  fd: number;
  path: string;
  size: number;
}

/** Puts entries into pieces of an archive. */
export class Packer {
  readonly #top: Beneath;
  readonly #bounds: ContentBounds;
  readonly #count: FileCount;
  readonly #pieces: Pieces;
  /**
   * The first path of each file with several names, by device and inode: other names become links to that
   * path.
   */
  readonly #names = new Map<string, string>();
  #entries = 0;
  #contents = 0;

  constructor(top: Beneath, pieces: Pieces, bounds: ContentBounds, count: FileCount) {
    this.#top = top;
    this.#pieces = pieces;
    this.#bounds = bounds;
    this.#count = count;
  }

  /**
   * Adds an entry. Returns a file if that is large: call `readLarge` then. Throws an `ArchiveFault`, or the
   * system's error.
   */
  add({ path, kind }: Found): OpenFile | undefined {
    this.#entries += 1;
    if (this.#entries > this.#bounds.entries) {
      throw new ArchiveFault(`there are more than ${this.#bounds.entries} files`);
    }
    this.#count.add(path, kind === "directory");
    if (kind === "file") return this.#file(path);
    const found = this.#top.with(path, (name) => lstatSync(name));
    const mode = found.mode & PERMISSION_BITS;
    // The time of a directory changes with each new file in it, and unpacking does not restore the time of a
    // link: with such times, the same files would give another archive.
    if (kind === "link" && found.isSymbolicLink()) {
      this.#header({ path, type: "SymbolicLink", mode, mtime: 0, linkpath: targetOf(path, this.#top) });
    } else if (kind === "directory" && found.isDirectory()) {
      this.#header({ path: `${path}/`, type: "Directory", mode, mtime: 0 });
    } else throw changed(path);
    return undefined;
  }

  /** Adds the content of a large file, and closes it. Yields after each part, so that pieces can be taken. */
  async *readLarge({ fd, path, size }: OpenFile): AsyncGenerator<void> {
    try {
      for (let left = size; left > 0; ) {
        const { room } = this.#pieces;
        const { bytesRead } = await readAsync(fd, room, 0, Math.min(room.length, left), null);
        if (bytesRead === 0) throw changed(path);
        left -= bytesRead;
        this.#pieces.wrote(bytesRead);
        yield;
      }
      this.#fillBlock(size);
    } finally {
      closeSync(fd);
    }
  }

  /** Adds the mark of the end. */
  end(): void {
    this.#pieces.add(ZEROS);
  }

  #file(path: string): OpenFile | undefined {
    const fd = openFile(path, this.#top);
    let isLarge = false;
    try {
      const found = fstatSync(fd, { bigint: true });
      if (!found.isFile()) throw changed(path);
      const { size } = found;
      const meta = { mode: Number(found.mode) & PERMISSION_BITS, mtime: secondsOf(found.mtimeNs) };
      const first = this.#firstName(path, found);
      if (first !== undefined) {
        this.#header({ ...meta, path, type: "Link", linkpath: first });
        return undefined;
      }
      const file = { fd, path, size: Number(size) };
      this.#contents += file.size;
      if (this.#contents > this.#bounds.contents) {
        throw new ArchiveFault(`the files have more than ${this.#bounds.contents} bytes`);
      }
      this.#header({ ...meta, path, type: "File", size: file.size });
      isLarge = file.size > SMALL_BYTES;
      if (isLarge) return file;
      this.#readSmall(file);
      return undefined;
    } finally {
      if (!isLarge) closeSync(fd);
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

  #readSmall({ fd, path, size }: OpenFile): void {
    for (let left = size; left > 0; ) {
      const { room } = this.#pieces;
      const bytes = readSync(fd, room, 0, Math.min(room.length, left), null);
      if (bytes === 0) throw changed(path);
      left -= bytes;
      this.#pieces.wrote(bytes);
    }
    this.#fillBlock(size);
  }

  #fillBlock(size: number): void {
    this.#pieces.add(ZEROS.subarray(0, -size & (BLOCK_BYTES - 1)));
  }

  #header(header: EntryHeader): void {
    const fault = entryFault(header);
    if (fault !== undefined) throw new ArchiveFault(fault);
    this.#pieces.add(headerOf(header));
  }
}

/** Rounds down, also before 1970. */
function secondsOf(ns: bigint): number {
  const seconds = ns / NS_PER_S;
  return Number(ns < 0n && seconds * NS_PER_S !== ns ? seconds - 1n : seconds);
}

/** The target of a symbolic link. It must be UTF-8: other bytes could not be restored. */
function targetOf(path: string, top: Beneath): string {
  const bytes = top.with(path, (name) => readlinkSync(name, "buffer"));
  const target = bytes.toString("utf8");
  if (Buffer.from(target).equals(bytes)) return target;
  throw new ArchiveFault(`the target of the link "${path}" is not UTF-8`);
}

/** Opens a file for reading: a task may have put something else in its place, which never blocks. */
function openFile(path: string, top: Beneath): number {
  return top.with(path, (name) => openSync(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
}

function changed(path: string): ArchiveFault {
  return new ArchiveFault(`"${path}" has changed while it was being packed`);
}
