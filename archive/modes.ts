// Which permissions do unpacked files and directories get?
import { closeSync, constants, fchmodSync, openSync, readlinkSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { isSystemError } from "./faults.ts";
import { Turns } from "./turns.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** The bits of a mode that an archive may set. They exclude the set-id bits. */
export const PERMISSION_BITS = 0o777;
/** Bits that are added to the mode of a file until everything is unpacked. */
const OWNER_READ_WRITE = 0o600;

/**
 * The modes of the archive's files and directories. Those of directories, and of files that their owner may
 * not read or write, are set after unpacking: until then the directory is filled, and another entry may
 * replace the file (decisions/files.md#modes-in-an-archive).
 */
export class Modes {
  /** Only files that their owner may not read or write. */
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

  /** Forgets what was at a path: another entry takes its place. */
  forget(path: string): void {
    this.#files.delete(path);
    this.#directories.delete(path);
  }

  /** Returns the mode that a file gets as soon as it is complete: a later entry may have the same path. */
  ofFile(path: string, mode: number): number {
    const last = mode & PERMISSION_BITS;
    const first = last | OWNER_READ_WRITE;
    if (first !== last) this.#files.set(path, last);
    return first;
  }

  ofDirectory(path: string, mode: number): void {
    this.#directories.set(path, mode & PERMISSION_BITS);
  }

  /** Notes a directory that the archive does not list. False: the umask of this process decides. */
  ofMissing(path: string): boolean {
    if (this.#umask === undefined) return false;
    this.#directories.set(path, PERMISSION_BITS & ~this.#umask);
    return true;
  }

  /** Sets the modes of files, then of directories, the innermost first. Never follows a link. */
  async apply(signal: AbortSignal): Promise<void> {
    const root = await realpath(this.#into);
    const directories = [...this.#directories].sort(([a], [b]) => (a < b ? 1 : -1));
    const turns = new Turns(signal);
    for (const [path, mode] of [...this.#files, ...directories]) {
      const wait = turns.next();
      if (wait !== undefined) await wait;
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
