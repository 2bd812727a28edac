// How fetched files get into a task's directory: prepared where only the agent has access, then moved.
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
import { setImmediate as others } from "node:timers/promises";
import { entriesOf, inside, isDone, openDir, withDir } from "./opened.ts";
import { giveAllIn, removeTree } from "./tree.ts";

const DIR_MODE = 0o755;
/** What moving a directory elsewhere needs of its mode. */
const OWNERS = 0o700;
/** After so many names others of this thread have their turn. */
const NAMES_AT_ONCE = 100;
/** How often one thing is moved in where something else appears meanwhile. */
const MAX_TRIES = 100;

/** Something that is no directory is where one must be. The message is its name. */
export class NoDirectory extends Error {}

/**
 * Moves all that lies in `from`, where only the agent gets, into a directory below `root`, which is made if
 * it is missing. Directories become one with those that are there; anything else in the way is replaced. No
 * link is followed, whoever changes names meanwhile. If the agent is root, all of it then belongs to the
 * owner of `root`. Throws `NoDirectory` if the way there leads through something else, or what the system
 * says.
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

/** Opens a directory below another one, and makes those on the way that are missing. */
function openFolder(root: string, parts: readonly string[]): number {
  let at = openDir(root);
  if (at === undefined) throw new NoDirectory(root);
  for (const part of parts) {
    const path = inside(at, part);
    const isNew = isDone(() => mkdirSync(path, DIR_MODE));
    const next = openDir(path);
    if (next !== undefined && isNew) makeAlike(next, fstatSync(at));
    closeSync(at);
    if (next === undefined) throw new NoDirectory(part);
    at = next;
  }
  return at;
}

/** A new directory belongs to whom the one above it belongs to. The agent's umask has made it private. */
function makeAlike(dir: number, { uid, gid }: Stats): void {
  chmodSync(`/proc/self/fd/${dir}`, DIR_MODE);
  if (process.geteuid?.() === 0) chownSync(`/proc/self/fd/${dir}`, uid, gid);
}

async function moveAll(from: number, to: number): Promise<void> {
  let names = 0;
  for (const entry of entriesOf(from)) {
    names += 1;
    if (names % NAMES_AT_ONCE === 0) await others();
    const [source, target] = [inside(from, entry.name), inside(to, entry.name)];
    await (entry.isDirectory() ? moveDir(source, target) : moveLeaf(source, target));
  }
}

/** A file or a link takes the place of whatever is there. */
async function moveLeaf(source: Buffer, target: Buffer): Promise<void> {
  for (let tries = 1; tries < MAX_TRIES; tries += 1) {
    if (isDone(() => renameSync(source, target))) return;
    await removeTree(target);
  }
  renameSync(source, target);
}

/** A directory goes where there is none, or an empty one; what it has goes into any other. */
async function moveDir(source: Buffer, target: Buffer): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (isDone(() => renameDir(source, target))) return;
    const there = openDir(target);
    if (there === undefined) {
      isDone(() => unlinkSync(target));
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

/** Only who may write into a directory may move it elsewhere, if that is not root. */
function renameDir(source: Buffer, target: Buffer): void {
  const { mode } = lstatSync(source);
  withDir(source, (dir) => {
    if ((mode & OWNERS) !== OWNERS) chmodSync(`/proc/self/fd/${dir}`, mode | OWNERS);
    try {
      renameSync(source, target);
    } finally {
      if ((mode & OWNERS) !== OWNERS) chmodSync(`/proc/self/fd/${dir}`, mode & 0o777);
    }
  });
}
