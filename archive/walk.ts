// How is a directory tree walked in a stable order, without following links?
import { type Dirent, readdirSync } from "node:fs";
import type { Beneath } from "./beneath.ts";
import { ArchiveFault } from "./faults.ts";
import { Turns } from "./turns.ts";

/** In a name, Node replaces bytes that are not UTF-8 with this character. Such a name opens no file. */
const UNREADABLE = "\uFFFD";

/** What is selected. `path` has slashes, and is relative to the directory where the walk began. */
export interface Found {
  path: string;
  kind: "file" | "link" | "directory";
}

/** Whether to select a file or directory, and what to select below it. */
export interface Choice {
  /** Whether the entry itself is selected. If a directory is not selected, entries below it may still be. */
  readonly chosen: boolean;
  /**
   * Opens a directory with these entries. The returned function gives the choice for each entry; undefined:
   * skip the entry and everything below it.
   */
  open(path: string, entries: readonly Dirent[]): Promise<Choose>;
}

type Choose = (entry: Dirent, path: string) => Choice | undefined;

/** A directory on the way to the present entry. */
interface Level {
  path: string;
  entries: Dirent[];
  /** The index of the entry that comes next. */
  next: number;
  choose: Choose;
  /** Whether the directory is selected, but not found yet. */
  isPending: boolean;
}

/**
 * Finds the selected files, links and directories below `top`, always in the same order. A selected directory
 * comes before its entries, but only if the directory is empty or one of its entries is selected. No link is
 * followed. Sockets, pipes and devices are skipped.
 */
export async function* walk(top: Beneath, choice: Choice, signal: AbortSignal): AsyncGenerator<Found> {
  const turns = new Turns(signal);
  const levels = [await enter(top, "", choice)];
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const entry = level.entries[level.next];
    level.next += 1;
    if (entry === undefined) {
      levels.pop();
      continue;
    }
    const wait = turns.next();
    if (wait !== undefined) await wait;
    const path = level.path === "" ? entry.name : `${level.path}/${entry.name}`;
    const inner = level.choose(entry, path);
    if (inner === undefined) continue;
    if (entry.name.includes(UNREADABLE)) throw new ArchiveFault(`the name "${path}" is not UTF-8`);
    if (entry.isDirectory()) {
      const below = await enter(top, path, inner);
      levels.push(below);
      if (below.entries.length === 0 && below.isPending) yield* pendingOf(levels);
      continue;
    }
    const kind = inner.chosen ? kindOf(entry) : undefined;
    if (kind === undefined) continue;
    yield* pendingOf(levels);
    yield { path, kind };
  }
}

async function enter(top: Beneath, path: string, { chosen, open }: Choice): Promise<Level> {
  const entries = top.withDir(path, (name) => readdirSync(name, { withFileTypes: true }));
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const choose = await open(path, entries);
  return { path, entries, next: 0, choose, isPending: chosen && path !== "" };
}

/** Yields the selected directories that come before an entry. */
function* pendingOf(levels: Level[]): Generator<Found> {
  for (const level of levels) {
    if (level.isPending) yield { path: level.path, kind: "directory" };
    level.isPending = false;
  }
}

function kindOf(entry: Dirent): Found["kind"] | undefined {
  if (entry.isFile()) return "file";
  return entry.isSymbolicLink() ? "link" : undefined;
}
