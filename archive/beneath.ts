// How are files opened below a root without ever following a link out of it?
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveFault, isSystemError } from "./faults.ts";

/** `O_PATH` of Linux: it needs no right to read the directory. */
const O_PATH = 0o10000000;
const OPEN_ROOT = O_PATH | constants.O_DIRECTORY;
const OPEN_DIR = OPEN_ROOT | constants.O_NOFOLLOW;

/** What somebody who changes names meanwhile can make of a step. */
const CHANGED = ["ENOENT", "ENOTDIR", "ELOOP"];

/**
 * What lies below a directory, for who must not be led elsewhere by links that others put there meanwhile:
 * the host agent, which may be root, collects what tasks have made. From directory to directory each is
 * opened without following a link, and things in it are named by the descriptor (`/proc/self/fd/…`). Where
 * there are no such names, as on a Mac, it is the user's own directory, and paths will do.
 */
export class Beneath {
  readonly root: string;
  readonly #top: FileHandle | undefined;
  /** The directory that was asked for last, which most often is the next one, too. */
  #held: { path: string; dir: FileHandle } | undefined;

  private constructor(root: string, top: FileHandle | undefined) {
    this.root = root;
    this.#top = top;
  }

  /** Opens a directory, also by way of a link to it: whoever says where it is means that. */
  static async open(root: string): Promise<Beneath> {
    return new Beneath(root, process.platform === "linux" ? await open(root, OPEN_ROOT) : undefined);
  }

  /**
   * Does something with what lies at this path below the directory, under a name that is good for that long.
   * Only the last part of the name can be a link. Throws an `ArchiveFault` if something on the way is none of
   * the directories that it was, and what the system says, by the path. One call at a time.
   */
  async with<Result>(path: string, act: (name: string) => Promise<Result>): Promise<Result> {
    const cut = path.lastIndexOf("/");
    const folder = await this.#nameOf(cut < 0 ? "" : path.slice(0, cut), path);
    return await this.#act(path, join(folder, path.slice(cut + 1)), act);
  }

  /** The same for a directory: the name leads to it, and never through a link. */
  async withDir<Result>(path: string, act: (name: string) => Promise<Result>): Promise<Result> {
    return await this.#act(path, await this.#nameOf(path, path), act);
  }

  async close(): Promise<void> {
    await this.#held?.dir.close();
    await this.#top?.close();
  }

  /** `whole`: what all this is for. */
  async #nameOf(path: string, whole: string): Promise<string> {
    if (this.#top === undefined) return join(this.root, path);
    if (path === "") return named(this.#top);
    if (this.#held?.path !== path) {
      const dir = await this.#opened(this.#top, path, whole);
      await this.#held?.dir.close();
      this.#held = { path, dir };
    }
    return named(this.#held.dir);
  }

  async #opened(top: FileHandle, path: string, whole: string): Promise<FileHandle> {
    let at = top;
    for (const part of path.split("/")) {
      const from = at;
      try {
        at = await this.#act(whole, `${named(from)}/${part}`, (name) => open(name, OPEN_DIR));
      } finally {
        if (from !== top) await from.close();
      }
    }
    return at;
  }

  /** A name by a descriptor says nothing to anybody: an error has the path. */
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

function named({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}

function isOfSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}
