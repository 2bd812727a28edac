// How are files below a directory opened without ever following a symbolic link out of it?
import { join } from "node:path";
import { Descent, Obstacle } from "./descent.ts";
import { ArchiveFault, isSystemError, withPath } from "./faults.ts";

/** Errors that appear when somebody renames or replaces files on the way. */
const CHANGED = ["ENOENT", "ENOTDIR", "ELOOP"];

/** Opens files below a directory in which others may create links at the same time (`Descent`). */
export class Beneath {
  readonly root: string;
  readonly #directories: Descent;

  private constructor(root: string) {
    this.root = root;
    this.#directories = Descent.open(root);
  }

  /** Opens a directory. `root` itself may be a link: the caller has chosen it. */
  static open(root: string): Beneath {
    return new Beneath(root);
  }

  /**
   * Calls `act` with a name for this path; the name is valid until `act` ends, and only its last part can be
   * a link. Throws an `ArchiveFault` if a directory on the way was replaced, else the system's error with the
   * real path in it.
   */
  with<Result>(path: string, act: (name: string) => Result): Result {
    const cut = path.lastIndexOf("/");
    const folder = cut < 0 ? "" : path.slice(0, cut);
    return this.#act(path, () => act(`${this.#directories.nameOf(folder)}/${path.slice(cut + 1)}`));
  }

  /** Like `with`, for a directory: no part of its name is a link. */
  withDir<Result>(path: string, act: (name: string) => Result): Result {
    return this.#act(path, () => act(this.#directories.nameOf(path)));
  }

  close(): void {
    this.#directories.close();
  }

  #act<Result>(path: string, act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      if (error instanceof Obstacle || isSystemError(error, ...CHANGED)) {
        throw new ArchiveFault(`"${path}" has changed while it was being packed`);
      }
      throw withPath(error, join(this.root, path));
    }
  }
}
