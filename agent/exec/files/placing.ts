// How do fetched files get into a task's directory? They are prepared where only the agent has access, then
// moved.
import {
  chmodSync,
  chownSync,
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  renameSync,
  type Stats,
  unlinkSync,
} from "node:fs";
import { setImmediate as yieldTurn } from "node:timers/promises";
import { entriesOf, inside, openDir, succeeds, withDir } from "./descriptors.ts";
import { giveAllIn, removeTree } from "./tree.ts";

const DIR_MODE = 0o755;
/** Bits of a directory's mode that moving the directory requires. */
const OWNER_ALL = 0o700;
/** After this many entries the event loop runs other work. */
const NAMES_PER_TURN = 100;
/** How often a move is tried while a task keeps creating other entries in its place. */
const MAX_TRIES = 100;

/** Something other than a directory is where a directory must be. The message is its name. */
export class NoDirectory extends Error {}

/**
 * Moves all entries of `from`, where only the agent has access, into a directory below `root`, which is
 * created if it is missing. Directories are merged with existing ones; anything else in the way is replaced.
 * No link is followed, even if a task renames entries meanwhile. If the agent is root, the entries then
 * belong to the owner of `root`. Rejects with `NoDirectory` if a part of the path is not a directory, or with
 * the system's error.
 */
export async function placeAll(from: string, root: string, parts: readonly string[]): Promise<void> {
  const folder = openFolder(root, parts);
  const source = openDir(from);
  try {
    if (source === undefined) throw new NoDirectory(from);
    if (process.geteuid?.() === 0) giveAllIn(from, fstatSync(folder));
    await moveAll(source, folder);
  } finally {
    closeSync(folder);
    if (source !== undefined) closeSync(source);
  }
}

/** Opens a directory below `root`, and creates missing directories in the path. */
function openFolder(root: string, parts: readonly string[]): number {
  let at = openDir(root);
  if (at === undefined) throw new NoDirectory(root);
  for (const part of parts) {
    const path = inside(at, part);
    const isNew = succeeds(() => mkdirSync(path, DIR_MODE));
    const next = openDir(path);
    if (next !== undefined && isNew) makeAlike(next, fstatSync(at));
    closeSync(at);
    if (next === undefined) throw new NoDirectory(part);
    at = next;
  }
  return at;
}

/** Gives a new directory its parent's owner, and its full mode, which the agent's umask had restricted. */
function makeAlike(dir: number, { uid, gid }: Stats): void {
  chmodSync(`/proc/self/fd/${dir}`, DIR_MODE);
  if (process.geteuid?.() === 0) chownSync(`/proc/self/fd/${dir}`, uid, gid);
}

async function moveAll(from: number, to: number): Promise<void> {
  let names = 0;
  for (const entry of entriesOf(from)) {
    names += 1;
    if (names % NAMES_PER_TURN === 0) await yieldTurn();
    const [source, target] = [inside(from, entry.name), inside(to, entry.name)];
    await (entry.isDirectory() ? moveDir(source, target) : moveLeaf(source, target));
  }
}

/** Moves a file or a link, and replaces whatever is there. */
async function moveLeaf(source: Buffer, target: Buffer): Promise<void> {
  for (let tries = 1; tries < MAX_TRIES; tries += 1) {
    if (succeeds(() => renameSync(source, target))) return;
    await removeTree(target);
  }
  renameSync(source, target);
}

/** Moves a directory. If the target is a directory with entries, moves only the entries into it. */
async function moveDir(source: Buffer, target: Buffer): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (succeeds(() => renameDir(source, target))) return;
    const there = openDir(target);
    if (there === undefined) {
      succeeds(() => unlinkSync(target));
      continue;
    }
    try {
      const dir = openDir(source);
      if (dir === undefined) return;
      await moveAll(dir, there).finally(() => closeSync(dir));
      return;
    } finally {
      closeSync(there);
    }
  }
  throw new NoDirectory(target.toString());
}

/** Renames a directory. For users other than root, this needs write permission for the directory. */
function renameDir(source: Buffer, target: Buffer): void {
  const { mode } = lstatSync(source);
  withDir(source, (dir) => {
    if ((mode & OWNER_ALL) !== OWNER_ALL) chmodSync(`/proc/self/fd/${dir}`, mode | OWNER_ALL);
    try {
      renameSync(source, target);
    } finally {
      if ((mode & OWNER_ALL) !== OWNER_ALL) chmodSync(`/proc/self/fd/${dir}`, mode & 0o777);
    }
  });
}
