// How are files below a directory opened without ever following a symbolic link out of it?
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
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
  readonly #top: FileHandle | undefined;
  /** The directory of the latest call: usually the next call needs it, too. */
  #latest: { path: string; dir: FileHandle } | undefined;

  private constructor(root: string, top: FileHandle | undefined) {
    this.root = root;
    this.#top = top;
  }

  /** Opens a directory. `root` itself may be a link: the caller has chosen it. */
  static async open(root: string): Promise<Beneath> {
    return new Beneath(root, process.platform === "linux" ? await open(root, OPEN_ROOT) : undefined);
  }

  /**
   * Calls `act` with a name for this path; the name is valid until `act` ends, and only its last part can be
   * a link. Throws an `ArchiveFault` if a directory on the way was replaced, else the system's error with the
   * real path in it. Takes one call at a time.
   */
  async with<Result>(path: string, act: (name: string) => Promise<Result>): Promise<Result> {
    const cut = path.lastIndexOf("/");
    const folder = await this.#nameOf(cut < 0 ? "" : path.slice(0, cut), path);
    return await this.#act(path, join(folder, path.slice(cut + 1)), act);
  }

  /** Like `with`, for a directory: no part of its name is a link. */
  async withDir<Result>(path: string, act: (name: string) => Promise<Result>): Promise<Result> {
    return await this.#act(path, await this.#nameOf(path, path), act);
  }

  async close(): Promise<void> {
    await this.#latest?.dir.close();
    await this.#top?.close();
  }

  /** `whole`: the path that the caller asked for, for the text of an error. */
  async #nameOf(path: string, whole: string): Promise<string> {
    if (this.#top === undefined) return join(this.root, path);
    if (path === "") return descriptorPath(this.#top);
    if (this.#latest?.path !== path) {
      const dir = await this.#openDir(this.#top, path, whole);
      await this.#latest?.dir.close();
      this.#latest = { path, dir };
    }
    return descriptorPath(this.#latest.dir);
  }

  async #openDir(top: FileHandle, path: string, whole: string): Promise<FileHandle> {
    let at = top;
    for (const part of path.split("/")) {
      const from = at;
      try {
        at = await this.#act(whole, `${descriptorPath(from)}/${part}`, (name) => open(name, OPEN_DIR));
      } finally {
        if (from !== top) await from.close();
      }
    }
    return at;
  }

  /** Calls `act`. An error names the real path, since a path through a descriptor tells a reader nothing. */
  async #act<Result>(path: string, name: string, act: (name: string) => Promise<Result>): Promise<Result> {
    try {
      return await act(name);
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

function descriptorPath({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}
