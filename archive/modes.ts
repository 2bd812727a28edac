// Which permissions do unpacked files and directories get?
import { constants, existsSync } from "node:fs";
import { open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { ReadEntry } from "tar";
import { isSystemError } from "./faults.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** What of a mode is taken from an archive: never the right to act as another user. */
const TAKEN = 0o777;
/** What its owner must be able to do with a file until all of it is there. */
const OWNERS = 0o600;

/** Whether an entry is a directory. */
export function isDirectory({ type }: Pick<ReadEntry, "type">): boolean {
  return type === "Directory" || type === "GNUDumpDir";
}

/**
 * The modes that files and directories of an archive shall have. They are set when all of it is there: the
 * mask of this process would take away from them before, what was there keeps its own, and a directory that
 * cannot be written in could not be filled.
 */
export class Modes {
  readonly #files = new Map<string, number>();
  readonly #directories = new Map<string, number>();
  readonly #into: string;
  readonly #umask: number | undefined;

  /** `umask`: for directories that the archive does not list; that of this process if absent. */
  constructor(into: string, umask: number | undefined) {
    this.#into = into;
    this.#umask = umask;
  }

  /** Notes what an entry asks for, and has it unpacked so that its mode can be set. */
  note(entry: ReadEntry): void {
    const path = entry.path.split("/").filter((part) => part !== "" && part !== ".");
    const key = path.join("/");
    this.#noteAbove(path);
    this.#files.delete(key);
    this.#directories.delete(key);
    if (entry.mode === undefined) return;
    const mode = entry.mode & TAKEN;
    entry.mode = mode;
    // The directory that all goes into is not the archive's.
    if (isDirectory(entry)) {
      if (key !== "") this.#directories.set(key, mode);
      // This says nothing of when: see where it is packed.
      if (entry.mtime?.getTime() === 0) entry.mtime = undefined;
    } else if (entry.type !== "SymbolicLink" && entry.type !== "Link") {
      entry.mode = mode | OWNERS;
      this.#files.set(key, mode);
    }
  }

  /** Notes the directories above an entry that are to be made for it. */
  #noteAbove(path: string[]): void {
    if (this.#umask === undefined) return;
    for (const [index] of path.slice(1).entries()) {
      const key = path.slice(0, index + 1).join("/");
      if (this.#directories.has(key) || existsSync(join(this.#into, key))) continue;
      this.#directories.set(key, TAKEN & ~this.#umask);
    }
  }

  /** Sets them, those of directories last and from below. Never through a link. */
  async apply(signal: AbortSignal): Promise<void> {
    const root = await realpath(this.#into);
    const directories = [...this.#directories].sort(([a], [b]) => (a < b ? 1 : -1));
    for (const [path, mode] of [...this.#files, ...directories]) {
      signal.throwIfAborted();
      await setMode(join(root, path), mode);
    }
  }
}

async function setMode(full: string, mode: number): Promise<void> {
  const handle = await open(full, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch((error: unknown) => {
      // Not every system tells. There it is the user's own directory, and the user's own command.
      if (isSystemError(error, "ENOENT")) return full;
      throw error;
    });
    if (opened === full) await handle.chmod(mode);
  } finally {
    await handle.close();
  }
}
