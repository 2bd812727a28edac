import {
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lchownSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { setImmediate as others } from "node:timers/promises";
import { errorCode } from "../files.ts";

// Tasks can change what lies in their directories while the agent works there, and the agent may be root. So
// a directory is opened once, without following a link, and whatever is done in it names it by the descriptor
// (`/proc/self/fd/…`, as openat(2) and its kin do), and not by a path that may lead elsewhere by now.

/** `O_PATH` of Linux: it needs no right to read the directory. */
const O_PATH = 0o10000000;
const OPEN_DIR = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** After so many names others of this thread have their turn. */
const NAMES_AT_ONCE = 100;
/** How often a directory is emptied again in which something appears meanwhile. */
const MAX_ROUNDS = 5;
/** What a directory is called that was moved up, to be emptied in its turn. */
const MOVED_UP = ".going-";

/** What somebody who changes names in between can make of a step: the next round sees what is left. */
const CHANGED = ["ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "EEXIST", "ENOTEMPTY"];

type Entry = Dirent<Buffer>;

/**
 * Deletes a file, a link or a directory with all that is in it, and nothing that a link leads to, also if
 * somebody changes names in it meanwhile. Depth costs nothing: directories are moved to the top, and emptied
 * there. If nothing is there, nothing is done. Throws what the system says.
 */
export async function removeTree(path: string): Promise<void> {
  const top = openDir(Buffer.from(path));
  if (top === undefined) return unless(["ENOENT"], () => unlinkSync(path));
  try {
    for (let round = 1; round < MAX_ROUNDS; round += 1) {
      await empty(top);
      if (isDone(() => rmdirSync(path))) return;
    }
    rmdirSync(path);
  } finally {
    closeSync(top);
  }
}

/** Empties an open directory, as far as nothing appears in it meanwhile. */
async function empty(top: number): Promise<void> {
  let names = 0;
  /** Deletes what is no directory. Of an inner one directories are moved up. Returns those that stay. */
  const clear = async (dir: number): Promise<Buffer[]> => {
    const stay: Buffer[] = [];
    for (const entry of entriesOf(dir)) {
      names += 1;
      if (names % NAMES_AT_ONCE === 0) await others();
      const path = inside(dir, entry.name);
      if (!entry.isDirectory()) isDone(() => unlinkSync(path));
      else if (dir === top) stay.push(path);
      else moveUp(path, inside(top, Buffer.from(`${MOVED_UP}${names}`)));
    }
    return stay;
  };
  let removed = true;
  while (removed) {
    removed = false;
    for (const path of await clear(top)) {
      const dir = openDir(path);
      if (dir === undefined) continue;
      try {
        allowOwner(dir);
        await clear(dir);
      } finally {
        closeSync(dir);
      }
      removed = isDone(() => rmdirSync(path)) || removed;
    }
  }
}

/** Only who may write into a directory may move it elsewhere. */
function moveUp(path: Buffer, to: Buffer): void {
  const dir = openDir(path);
  if (dir === undefined) return;
  try {
    allowOwner(dir);
    isDone(() => renameSync(path, to));
  } finally {
    closeSync(dir);
  }
}

/** Gives all that is in a directory to a user, and nothing that a link leads to. */
export function giveAllIn(folder: string | Buffer, owner: { uid: number; gid: number }): void {
  const dir = openDir(Buffer.from(folder));
  if (dir === undefined) return;
  try {
    for (const entry of entriesOf(dir)) {
      const path = inside(dir, entry.name);
      if (entry.isDirectory()) giveAllIn(path, owner);
      isDone(() => lchownSync(path, owner.uid, owner.gid));
    }
  } finally {
    closeSync(dir);
  }
}

/** A descriptor of a directory; undefined if there is none. */
function openDir(path: Buffer): number | undefined {
  let dir: number | undefined;
  unless(["ENOENT", "ENOTDIR", "ELOOP"], () => {
    dir = openSync(path, OPEN_DIR);
  });
  return dir;
}

/** A task may have taken its own rights to a directory away. Who may not give them back is told so later. */
function allowOwner(dir: number): void {
  if ((fstatSync(dir).mode & 0o700) === 0o700) return;
  unless(["EPERM", "EROFS"], () => chmodSync(`/proc/self/fd/${dir}`, 0o700));
}

/** Names need not be UTF-8. */
function entriesOf(dir: number): Entry[] {
  return readdirSync(`/proc/self/fd/${dir}`, { withFileTypes: true, encoding: "buffer" });
}

function inside(dir: number, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${dir}/`), name]);
}

/** Whether a step was taken; not if somebody has changed names in between. */
function isDone(step: () => void): boolean {
  let done = false;
  unless(CHANGED, () => {
    step();
    done = true;
  });
  return done;
}

function unless(codes: readonly string[], step: () => void): void {
  try {
    step();
  } catch (error) {
    if (!codes.includes(errorCode(error) ?? "")) throw error;
  }
}
