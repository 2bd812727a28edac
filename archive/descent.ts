// How is a directory below another one named, without ever following a symbolic link on the way?
import { closeSync, constants, lstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { isSystemError } from "./faults.ts";

/** `O_PATH` (Linux) opens a directory even if this process may not read it. */
const O_PATH = 0o10000000;
const OPEN_ROOT = O_PATH | constants.O_DIRECTORY;
const OPEN_DIR = OPEN_ROOT | constants.O_NOFOLLOW;

/** Something on the way is not a directory: a link, a file, or `..`. */
export class Obstacle extends Error {
  /** Its path below the root. */
  readonly at: string;

  constructor(at: string) {
    super(`"${at}" is not a directory`);
    this.at = at;
  }
}

/** Is called for a directory that is missing, with a name and the path below the root. May create it. */
type OnMissing = (name: string, path: string) => void;

/**
 * Names directories below a root in which others may create links at the same time: the host agent, which may
 * be root, works in directories of tasks. Each directory on the way is opened without following a link, and
 * its entries are named through its descriptor (`/proc/self/fd/…`). Systems without such names, like macOS,
 * only have directories of the caller's own user here. There, a look at each directory on the way is enough.
 */
export class Descent {
  readonly #root: string;
  readonly #top: number | undefined;
  /** The directory of the latest call: usually the next call needs it, too. */
  #latest: { path: string; dir: number | undefined } | undefined;

  private constructor(root: string, top: number | undefined) {
    this.#root = root;
    this.#top = top;
  }

  /** Opens a directory. `root` itself may be a link: the caller has chosen it. Throws the system's error. */
  static open(root: string, hasDescriptors = process.platform === "linux"): Descent {
    return new Descent(root, hasDescriptors ? openSync(root, OPEN_ROOT) : undefined);
  }

  /**
   * A name for the directory at this path, valid until the next call. Throws an `Obstacle`, or the system's
   * error, such as `ENOENT`.
   */
  nameOf(path: string, onMissing?: OnMissing): string {
    if (path !== "" && this.#latest?.path !== path) {
      const dir = this.#open(path, onMissing);
      this.forget();
      this.#latest = { path, dir };
    }
    if (this.#top === undefined) return join(this.#root, path);
    return descriptorPath(path === "" ? this.#top : (this.#latest?.dir ?? this.#top));
  }

  /** The next call looks at each directory again. Necessary after a directory or a link was replaced. */
  forget(): void {
    if (this.#latest?.dir !== undefined) closeSync(this.#latest.dir);
    this.#latest = undefined;
  }

  close(): void {
    this.forget();
    if (this.#top !== undefined) closeSync(this.#top);
  }

  /** Goes down. Returns the descriptor of the last directory; undefined if the system has no such names. */
  #open(path: string, onMissing: OnMissing | undefined): number | undefined {
    let dir = this.#top;
    let done = "";
    for (const part of path.split("/")) {
      const from = dir;
      const name = from === undefined ? join(this.#root, done, part) : `${descriptorPath(from)}/${part}`;
      done = done === "" ? part : `${done}/${part}`;
      try {
        if (part === "..") throw new Obstacle(done);
        dir = step(from, name, done, onMissing);
      } finally {
        if (from !== undefined && from !== this.#top) closeSync(from);
      }
    }
    return dir;
  }
}

/** Enters one directory. */
function step(
  from: number | undefined,
  name: string,
  path: string,
  onMissing: OnMissing | undefined,
): number | undefined {
  const enter = () => (from === undefined ? look(name, path) : openSync(name, OPEN_DIR));
  try {
    return enter();
  } catch (error) {
    if (isSystemError(error, "ENOTDIR", "ELOOP")) throw new Obstacle(path);
    if (onMissing === undefined || !isSystemError(error, "ENOENT")) throw error;
  }
  onMissing(name, path);
  return enter();
}

function look(name: string, path: string): undefined {
  if (!lstatSync(name).isDirectory()) throw new Obstacle(path);
}

function descriptorPath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}
