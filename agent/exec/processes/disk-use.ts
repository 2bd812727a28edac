// How much disk space do the directories of a task take?
import { closeSync, type Dir, fstatSync, lstatSync, opendirSync } from "node:fs";
import { setImmediate as yieldTurn } from "node:timers/promises";
import { entriesOf, inside, openDir, succeeds } from "../files/descriptors.ts";

/** Blocks of `stat(2)` are 512 bytes, whatever the file system. */
const BLOCK_BYTES = 512;
/** The most entries that one count looks at: about 0.15 s of a processor (tasks.md#peaks). */
export const MAX_COUNTED_ENTRIES = 20_000;
/** After this many entries the event loop runs other work. */
const ENTRIES_PER_TURN = 200;
/** A directory of this size has a few hundred entries at most, and its list comes in one piece. */
const SMALL_DIR_BYTES = 4_096;
/** Directories below this depth are not counted: each open directory takes a descriptor. */
const MAX_DEPTH = 64;

interface Entry {
  name: Buffer;
  isDirectory(): boolean;
}

export interface DiskUse {
  bytes: number;
  /** Not everything could be counted. */
  isLeast: boolean;
}

/**
 * The disk space of the files below these directories, as `du` counts it: a file with several names counts
 * once, and other file systems do not count. Never follows a link, even while tasks rename directories. What
 * cannot be read, and what is beyond `most` entries, makes the answer a lower bound.
 */
export async function diskUse(folders: readonly string[], most = MAX_COUNTED_ENTRIES): Promise<DiskUse> {
  const count = new Count(most);
  for (const folder of folders) await count.add(folder);
  return { bytes: count.bytes, isLeast: count.isLeast };
}

class Count {
  bytes = 0;
  isLeast = false;
  #left: number;
  readonly #linked = new Set<string>();

  constructor(most: number) {
    this.#left = most;
  }

  /** Adds a directory and everything below it on the same file system. */
  async add(path: string | Buffer, depth = 0, device?: number): Promise<void> {
    let folder: number | undefined;
    try {
      folder = openDir(path);
      if (folder === undefined) return;
      const { dev, blocks, size } = fstatSync(folder);
      if (device !== undefined && dev !== device) return;
      this.bytes += blocks * BLOCK_BYTES;
      await this.#addEntries(
        size <= SMALL_DIR_BYTES ? entriesOf(folder) : inPortions(folder),
        folder,
        depth,
        dev,
      );
    } catch {
      // This user may not read the directory, or it has changed meanwhile.
      this.isLeast = true;
    } finally {
      if (folder !== undefined) closeSync(folder);
    }
  }

  async #addEntries(entries: Iterable<Entry>, folder: number, depth: number, device: number): Promise<void> {
    for (const entry of entries) {
      if (this.#left === 0 || depth === MAX_DEPTH) {
        this.isLeast = true;
        return;
      }
      this.#left -= 1;
      if (this.#left % ENTRIES_PER_TURN === 0) await yieldTurn();
      const path = inside(folder, entry.name);
      if (entry.isDirectory()) await this.add(path, depth + 1, device);
      else this.#addFile(path);
    }
  }

  #addFile(path: Buffer): void {
    succeeds(() => {
      const { blocks, nlink, dev, ino } = lstatSync(path);
      if (nlink > 1 && this.#linked.size === this.#linked.add(`${dev} ${ino}`).size) return;
      this.bytes += blocks * BLOCK_BYTES;
    });
  }
}

/** The entries of a large directory in portions: a list of a million would take a second and much memory. */
function* inPortions(folder: number): Generator<Entry> {
  // The types of Node do not know that names can be bytes here, too.
  const entries = opendirSync(`/proc/self/fd/${folder}`, { encoding: "buffer" as BufferEncoding });
  try {
    for (let entry = readEntry(entries); entry !== null; entry = readEntry(entries)) yield entry;
  } finally {
    entries.closeSync();
  }
}

/** The next entry. Its name is bytes, since names need not be UTF-8; the types of Node do not know that. */
function readEntry(entries: Dir): Entry | null {
  const entry = entries.readSync();
  return entry === null ? null : { name: Buffer.from(entry.name), isDirectory: () => entry.isDirectory() };
}
