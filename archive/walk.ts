// How a directory tree is walked in a stable order, without following links.
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { setImmediate as others } from "node:timers/promises";
import type { Beneath } from "./beneath.ts";
import { ArchiveFault } from "./faults.ts";

/** What Node puts into a name in the place of bytes that are no UTF-8: such a file cannot be named. */
const UNREADABLE = "\uFFFD";
/** After so long others of this thread have their turn, and it is seen whether to stop. */
const TURN_MS = 20;

/** What is chosen of a directory. */
export interface Choice {
  /** The directory itself is. Below one that is not something still may be. */
  readonly chosen: boolean;
  /** Opens it: the choice in what lies there, by its path; undefined if that is left out, and all below. */
  open(path: string): Promise<(entry: Dirent, path: string) => Choice | undefined>;
}

/**
 * Finds the files, links and directories that are chosen below a directory, as paths relative to it, always
 * in the same order. A directory comes before what it has, and only if it is empty or something in it is
 * chosen. No link is followed. Sockets, pipes and devices are passed over.
 */
export async function* walk(top: Beneath, choice: Choice, signal: AbortSignal): AsyncGenerator<string> {
  let turnEndsAt = performance.now() + TURN_MS;
  yield* below("", choice);

  async function* below(path: string, { chosen, open }: Choice): AsyncGenerator<string> {
    signal.throwIfAborted();
    const found = await top.withDir(path, (name) => readdir(name, { withFileTypes: true }));
    let owed = chosen && path !== "";
    if (owed && found.length === 0) yield path;
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    const choose = await open(path);
    for (const entry of found) {
      if (performance.now() > turnEndsAt) {
        await others();
        turnEndsAt = performance.now() + TURN_MS;
      }
      signal.throwIfAborted();
      const at = path === "" ? entry.name : `${path}/${entry.name}`;
      const inner = choose(entry, at);
      if (inner === undefined) continue;
      if (entry.name.includes(UNREADABLE)) throw new ArchiveFault(`the name "${at}" is not UTF-8`);
      for await (const one of entry.isDirectory() ? below(at, inner) : leaf(entry, at, inner)) {
        if (owed) yield path;
        owed = false;
        yield one;
      }
    }
  }
}

function* leaf(entry: Dirent, path: string, { chosen }: Choice): Generator<string> {
  if (chosen && (entry.isFile() || entry.isSymbolicLink())) yield path;
}
