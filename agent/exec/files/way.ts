// Can a task's user reach its directory through all parent directories?
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** What of a directory's mode says who may pass through. */
interface Gate {
  mode: number;
  uid: number;
  gid: number;
}

/** A directory on the way to another one, and who may pass through it. */
export interface Closed {
  dir: string;
  /** As `chmod` writes it, such as `0700`. */
  mode: string;
}

/** Who wants to pass through. */
interface Passer {
  uid: number;
  gid: number;
  groups: readonly number[];
}

/** Whether somebody may pass through; without an account, whether everybody may. */
function isOpen({ mode, uid, gid }: Gate, account?: Passer): boolean {
  if (account?.uid === uid) return (mode & 0o100) !== 0;
  if (account?.gid === gid || account?.groups.includes(gid)) return (mode & 0o010) !== 0;
  return (mode & 0o001) !== 0;
}

/**
 * The topmost directory on the way to this one, itself included, that is closed to a user, or to others in
 * general if none is named. Undefined if the way is open by all that modes say.
 */
export function closedOnWay(dir: string, account?: Passer): Closed | undefined {
  const way: string[] = [];
  for (let at = resolve(dir); ; at = dirname(at)) {
    way.unshift(at);
    if (at === dirname(at)) break;
  }
  for (const at of way) {
    const gate = statSync(at, { throwIfNoEntry: false });
    if (gate === undefined) return undefined;
    if (!isOpen(gate, account)) return { dir: at, mode: (gate.mode & 0o7777).toString(8).padStart(4, "0") };
  }
  return undefined;
}
