// Can a user reach a directory through all its parents?
import { type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** A parent directory that is closed to a user. */
export interface ClosedDirectory {
  dir: string;
  /** As `chmod` writes it, such as `0700`. */
  mode: string;
}

interface User {
  uid: number;
  gid: number;
  groups: readonly number[];
}

/** Whether a user may pass through a directory; without an account, whether every user may. */
function isOpen({ mode, uid, gid }: Pick<Stats, "mode" | "uid" | "gid">, account?: User): boolean {
  if (account?.uid === uid) return (mode & 0o100) !== 0;
  if (account?.gid === gid || account?.groups.includes(gid)) return (mode & 0o010) !== 0;
  return (mode & 0o001) !== 0;
}

/**
 * The topmost directory in this path that is closed to the user. Without an account, the topmost directory
 * that is closed to other users in general. Undefined if the modes of all directories allow passage, or if a
 * directory does not exist.
 */
export function closedParent(dir: string, account?: User): ClosedDirectory | undefined {
  const parents: string[] = [];
  for (let at = resolve(dir); ; at = dirname(at)) {
    parents.unshift(at);
    if (at === dirname(at)) break;
  }
  for (const at of parents) {
    const permissions = statSync(at, { throwIfNoEntry: false });
    if (permissions === undefined) return undefined;
    if (!isOpen(permissions, account))
      return { dir: at, mode: (permissions.mode & 0o7777).toString(8).padStart(4, "0") };
  }
  return undefined;
}
