// How are files below a directory opened without ever following a symbolic link out of it?
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { ArchiveFault, isOfSystem, isSystemError } from "./faults.ts";

/** `O_PATH` (Linux) opens a directory even if this process may not read it. */
const O_PATH = 0o10000000;
const OPEN_ROOT = O_PATH | constants.O_DIRECTORY;
const OPEN_DIR = OPEN_ROOT | constants.O_NOFOLLOW;

/** Errors that appear when somebody renames or replaces files on the way. */
const CHANGED = ["ENOENT", "ENOTDIR", "ELOOP"];

/**
 * Opens files below a directory in which others may create links at the same time: the host agent, which may
 * be root, collects files of tasks. Each directory on the way is opened without following a link, and its
 * entries are named through its descriptor (`/proc/self/fd/…`). Systems without such names, like macOS, only
 * pack directories of the caller's own user, so plain paths are safe there.
 */
export class Beneath {
  readonly root: string;
  readonly #top: number | undefined;
  /** The directory of the latest call, as a descriptor: usually the next call needs it, too. */
  #latest: { path: string; dir: number } | undefined;

  private constructor(root: string, top: number | undefined) {
    this.root = root;
    this.#top = top;
  }

  /** Opens a directory. `root` itself may be a link: the caller has chosen it. */
  static open(root: string): Beneath {
    return new Beneath(root, process.platform === "linux" ? openSync(root, OPEN_ROOT) : undefined);
  }

  /**
   * Calls `act` with a name for this path; the name is valid until `act` ends, and only its last part can be
   * a link. Throws an `ArchiveFault` if a directory on the way was replaced, else the system's error with the
   * real path in it.
   */
  with<Result>(path: string, act: (name: string) => Result): Result {
    const cut = path.lastIndexOf("/");
    const folder = this.#nameOf(cut < 0 ? "" : path.slice(0, cut), path);
    return this.#act(path, join(folder, path.slice(cut + 1)), act);
  }

  /** Like `with`, for a directory: no part of its name is a link. */
  withDir<Result>(path: string, act: (name: string) => Result): Result {
    return this.#act(path, this.#nameOf(path, path), act);
  }

  close(): void {
    if (this.#latest !== undefined) closeSync(this.#latest.dir);
    if (this.#top !== undefined) closeSync(this.#top);
  }

  /** `whole`: the path that the caller asked for, for the text of an error. */
  #nameOf(path: string, whole: string): string {
    if (this.#top === undefined) return join(this.root, path);
    if (path === "") return descriptorPath(this.#top);
    if (this.#latest?.path !== path) {
      const dir = this.#openDir(this.#top, path, whole);
      if (this.#latest !== undefined) closeSync(this.#latest.dir);
      this.#latest = { path, dir };
    }
    return descriptorPath(this.#latest.dir);
  }

  #openDir(top: number, path: string, whole: string): number {
    let at = top;
    for (const part of path.split("/")) {
      const from = at;
      try {
        at = this.#act(whole, `${descriptorPath(from)}/${part}`, (name) => openSync(name, OPEN_DIR));
      } finally {
        if (from !== top) closeSync(from);
      }
    }
    return at;
  }

  /** Calls `act`. An error names the real path, since a path through a descriptor tells a reader nothing. */
  #act<Result>(path: string, name: string, act: (name: string) => Result): Result {
    try {
      return act(name);
    } catch (error) {
      if (this.#top === undefined || !isOfSystem(error)) throw error;
      if (isSystemError(error, ...CHANGED)) {
        throw new ArchiveFault(`"${path}" has changed while it was being packed`);
      }
      const full = join(this.root, path);
      error.message = error.message.replaceAll(name, full);
      error.path = full;
      throw error;
    }
  }
}

function descriptorPath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}
