// Which permissions do unpacked files and directories get?
import { closeSync, constants, existsSync, fchmodSync, openSync, readlinkSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { ReadEntry } from "tar";
import { namesOf } from "./entries.ts";
import { isSystemError } from "./faults.ts";
import { Turns } from "./turns.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** The bits of a mode that an archive may set. They exclude the set-id bits. */
const PERMISSION_BITS = 0o777;
/** Bits that are added to the mode of a file while the file is being written. */
const OWNER_READ_WRITE = 0o600;

/** Whether an entry is a directory, also in the old GNU format for dumps. */
export function isDirectory({ type }: Pick<ReadEntry, "type">): boolean {
  return type === "Directory" || type === "GNUDumpDir";
}

/**
 * The modes of the archive's files and directories. They are set after unpacking, because until then the
 * umask of this process would change them, entries that exist already would keep their modes, and a read-only
 * directory could not be filled.
 */
export class Modes {
  readonly #files = new Map<string, number>();
  readonly #directories = new Map<string, number>();
  readonly #into: string;
  readonly #umask: number | undefined;

  /**
   * `umask` applies to directories that the archive does not list; by default it is the umask of this
   * process.
   */
  constructor(into: string, umask: number | undefined) {
    this.#into = into;
    this.#umask = umask;
  }

  /** Notes the mode of an entry, and sets the entry's mode to one that allows writing during unpacking. */
  note(entry: ReadEntry): void {
    const path = namesOf(entry.path);
    const key = path.join("/");
    this.#noteAbove(path);
    this.#files.delete(key);
    this.#directories.delete(key);
    if (entry.mode === undefined) return;
    const mode = entry.mode & PERMISSION_BITS;
    entry.mode = mode;
    if (isDirectory(entry)) {
      // The archive may list the directory that we unpack into, but must not change its mode.
      if (key !== "") this.#directories.set(key, mode);
      // `pack` gives directories the time 0, which means that they have no time.
      if (entry.mtime?.getTime() === 0) entry.mtime = undefined;
    } else if (entry.type !== "SymbolicLink" && entry.type !== "Link") {
      entry.mode = mode | OWNER_READ_WRITE;
      this.#files.set(key, mode);
    }
  }

  /** Notes the missing directories above an entry. */
  #noteAbove(path: string[]): void {
    if (this.#umask === undefined) return;
    for (const [index] of path.slice(1).entries()) {
      const key = path.slice(0, index + 1).join("/");
      if (this.#directories.has(key) || existsSync(join(this.#into, key))) continue;
      this.#directories.set(key, PERMISSION_BITS & ~this.#umask);
    }
  }

  /** Sets the modes of files, then of directories, the innermost first. Never follows a link. */
  async apply(signal: AbortSignal): Promise<void> {
    const root = await realpath(this.#into);
    const directories = [...this.#directories].sort(([a], [b]) => (a < b ? 1 : -1));
    const turns = new Turns(signal);
    for (const [path, mode] of [...this.#files, ...directories]) {
      await turns.next();
      setMode(join(root, path), mode);
    }
  }
}

function setMode(full: string, mode: number): void {
  const fd = openSync(full, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if (pathOf(fd, full) === full) fchmodSync(fd, mode);
  } finally {
    closeSync(fd);
  }
}

/**
 * The real path of a descriptor. A system without `/proc/self/fd` cannot say it, and need not: there,
 * archives are unpacked only for this user, into this user's directories.
 */
function pathOf(fd: number, opened: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch (error) {
    if (isSystemError(error, "ENOENT")) return opened;
    throw error;
  }
}
