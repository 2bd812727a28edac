// What may be in a state directory?
import { join } from "node:path";
import { TEMPORARY_ENDING } from "../../disk/atomic.ts";

/**
 * Everything that `drover up` writes to a state directory. `pathIn` accepts no other name: a file that is not
 * in this list would make the next start refuse the directory.
 */
export const NAMES = [
  ".gitignore",
  "awake",
  "cache",
  "clock.json",
  "context.json",
  "fake-clouds",
  "instances",
  "instances.json",
  "lock",
  "objects",
  "pool.json",
  "reserve",
  "tmp",
  "up.json",
  "worker.log",
  "workerd-guard",
] as const;
export type Name = (typeof NAMES)[number];

/** The path of one of our files or folders in a state directory. */
export function pathIn(stateDir: string, name: Name): string {
  return join(stateDir, name);
}

/** Whether a name in a state directory is one of ours, or a leftover of a crash. */
export function isOurs(name: string): boolean {
  // A crash leaves claims to the lock as well (`lock.ts`).
  return NAMES.some((ours) => ours === name) || name.startsWith("lock.") || isDraft(name);
}

/** Whether a file with this name is an unfinished version of one of our files. */
export function isDraft(name: string): boolean {
  return NAMES.some((ours) => name === ours + TEMPORARY_ENDING);
}
