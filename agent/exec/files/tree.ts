// How is a directory tree deleted, or given to a user, while tasks may still change it?
import { closeSync, lchownSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { setImmediate as yieldTurn } from "node:timers/promises";
import { allowOwner, entriesOf, ignoringErrors, inside, openDir, succeeds, withDir } from "./descriptors.ts";

/** After this many entries the event loop runs other work. */
const NAMES_PER_TURN = 100;
/** How often to empty a directory in which new entries appear. */
const MAX_ROUNDS = 5;
/** Prefix of directories that were moved to the top directory, where they are emptied. */
const MOVED_UP = ".going-";

/**
 * Deletes a file, a link or a directory with all its entries, even while tasks rename them. Never follows a
 * link. A path that does not exist is fine. There is no recursion: inner directories that are not empty are
 * moved to the top directory, and emptied there. Rejects with the system's error.
 */
export async function removeTree(path: string | Buffer): Promise<void> {
  const top = openDir(path);
  if (top === undefined) return ignoringErrors(["ENOENT"], () => unlinkSync(path));
  try {
    for (let round = 1; round < MAX_ROUNDS; round += 1) {
      await empty(top);
      if (succeeds(() => rmdirSync(path))) return;
    }
    rmdirSync(path);
  } finally {
    closeSync(top);
  }
}

/** Empties an open directory. Entries that are created meanwhile may stay. */
async function empty(top: number): Promise<void> {
  let names = 0;
  /**
   * Deletes files and links, and moves directories to the top. Returns the directories that were already at
   * the top.
   */
  const clear = async (dir: number): Promise<Buffer[]> => {
    const stay: Buffer[] = [];
    for (const entry of entriesOf(dir)) {
      names += 1;
      if (names % NAMES_PER_TURN === 0) await yieldTurn();
      const path = inside(dir, entry.name);
      if (!entry.isDirectory()) succeeds(() => unlinkSync(path));
      else if (dir === top) stay.push(path);
      else if (!succeeds(() => rmdirSync(path))) moveUp(path, inside(top, `${MOVED_UP}${names}`));
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
      removed = succeeds(() => rmdirSync(path)) || removed;
    }
  }
}

/** Moves a directory. That needs write permission for the directory itself. */
function moveUp(path: Buffer, to: Buffer): void {
  withDir(path, (dir) => {
    allowOwner(dir);
    succeeds(() => renameSync(path, to));
  });
}

/** Gives all entries below a directory to a user. Never follows a link. */
export function giveAllIn(folder: string | Buffer, owner: { uid: number; gid: number }): void {
  withDir(folder, (dir) => {
    for (const entry of entriesOf(dir)) {
      const path = inside(dir, entry.name);
      if (entry.isDirectory()) giveAllIn(path, owner);
      succeeds(() => lchownSync(path, owner.uid, owner.gid));
    }
  });
}
