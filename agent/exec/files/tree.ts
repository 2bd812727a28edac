// How a directory tree is deleted or changed while tasks may still write to it.
import { closeSync, lchownSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { setImmediate as others } from "node:timers/promises";
import { allowOwner, entriesOf, inside, isDone, openDir, unless, withDir } from "./opened.ts";

/** After so many names others of this thread have their turn. */
const NAMES_AT_ONCE = 100;
/** How often a directory is emptied again in which something appears meanwhile. */
const MAX_ROUNDS = 5;
/** What a directory is called that was moved up, to be emptied in its turn. */
const MOVED_UP = ".going-";

/**
 * Deletes a file, a link or a directory with all that is in it, and nothing that a link leads to, also if
 * somebody changes names in it meanwhile. Depth costs nothing: directories are moved to the top, and emptied
 * there. If nothing is there, nothing is done. Throws what the system says.
 */
export async function removeTree(path: string | Buffer): Promise<void> {
  const top = openDir(path);
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
      else moveUp(path, inside(top, `${MOVED_UP}${names}`));
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
  withDir(path, (dir) => {
    allowOwner(dir);
    isDone(() => renameSync(path, to));
  });
}

/** Gives all that is in a directory to a user, and nothing that a link leads to. */
export function giveAllIn(folder: string | Buffer, owner: { uid: number; gid: number }): void {
  withDir(folder, (dir) => {
    for (const entry of entriesOf(dir)) {
      const path = inside(dir, entry.name);
      if (entry.isDirectory()) giveAllIn(path, owner);
      isDone(() => lchownSync(path, owner.uid, owner.gid));
    }
  });
}
