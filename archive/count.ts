// How many files does an archive have, as a person would count them?
import { namesOf } from "./entries.ts";

/** Counts files, links and empty directories. */
export class FileCount {
  /** Directories without an entry so far. */
  readonly #empty = new Set<string>();
  #filesAndLinks = 0;

  add(path: string, isDirectory: boolean): void {
    const names = namesOf(path);
    this.#empty.delete(names.slice(0, -1).join("/"));
    if (!isDirectory) this.#filesAndLinks += 1;
    else if (names.length > 0) this.#empty.add(names.join("/"));
  }

  get files(): number {
    return this.#filesAndLinks + this.#empty.size;
  }
}
