// How is a directory tree walked in a stable order, without following links?
import { type Dirent, readdirSync } from "node:fs";
import type { Beneath } from "./beneath.ts";
import { ArchiveFault } from "./faults.ts";
import { Turns } from "./turns.ts";

/** In a name, Node replaces bytes that are not UTF-8 with this character. Such a name opens no file. */
const UNREADABLE = "\uFFFD";

/** Whether to select a file or directory, and what to select below it. */
export interface Choice {
  /** Whether the entry itself is selected. If a directory is not selected, entries below it may still be. */
  readonly chosen: boolean;
  /**
   * Opens a directory. The returned function gives the choice for each entry; undefined: skip the entry and
   * everything below it.
   */
  open(path: string): Promise<(entry: Dirent, path: string) => Choice | undefined>;
}

/**
 * Finds the selected files, links and directories, as paths relative to `top`, always in the same order. A
 * selected directory comes before its entries, but only if the directory is empty or one of its entries is
 * selected. No link is followed. Sockets, pipes and devices are skipped.
 */
export async function* walk(top: Beneath, choice: Choice, signal: AbortSignal): AsyncGenerator<string> {
  const turns = new Turns(signal);
  yield* below("", choice);

  async function* below(path: string, { chosen, open }: Choice): AsyncGenerator<string> {
    const found = top.withDir(path, (name) => readdirSync(name, { withFileTypes: true }));
    let isPending = chosen && path !== "";
    if (isPending && found.length === 0) yield path;
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    const choose = await open(path);
    for (const entry of found) {
      await turns.next();
      const at = path === "" ? entry.name : `${path}/${entry.name}`;
      const inner = choose(entry, at);
      if (inner === undefined) continue;
      if (entry.name.includes(UNREADABLE)) throw new ArchiveFault(`the name "${at}" is not UTF-8`);
      for await (const one of entry.isDirectory() ? below(at, inner) : leaf(entry, at, inner)) {
        if (isPending) yield path;
        isPending = false;
        yield one;
      }
    }
  }
}

function* leaf(entry: Dirent, path: string, { chosen }: Choice): Generator<string> {
  if (chosen && (entry.isFile() || entry.isSymbolicLink())) yield path;
}
