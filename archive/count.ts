// How many files does an archive have, as a person would count them?

/** Counts what somebody would call files: also links, and directories that have nothing in them. */
export class FileCount {
  /** Directories of which nothing else has been seen. */
  readonly #empty = new Set<string>();
  #others = 0;

  add(path: string, isDirectory: boolean): void {
    const parts = path.split("/").filter((part) => part !== "" && part !== ".");
    this.#empty.delete(parts.slice(0, -1).join("/"));
    if (!isDirectory) this.#others += 1;
    else if (parts.length > 0) this.#empty.add(parts.join("/"));
  }

  get files(): number {
    return this.#others + this.#empty.size;
  }
}
