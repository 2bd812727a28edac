import { join } from "node:path";
import { DRAFT_ENDING } from "../../posix/files.ts";

/**
 * All that `drover up` writes to a state directory. Paths there come from `pathIn`, which takes no other:
 * a file that is not in this list would make the next start refuse the directory.
 */
export const NAMES = [
  ".gitignore",
  "awake",
  "cache",
  "clock.json",
  "context.json",
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

/** Where a file or a folder of ours lies in a state directory. */
export function pathIn(stateDir: string, name: Name): string {
  return join(stateDir, name);
}

/** Whether a name in a state directory is one of ours, or the draft of one that a crash has left. */
export function isOurs(name: string): boolean {
  // A crash leaves claims to the lock as well (`lock.ts`).
  return NAMES.some((ours) => ours === name) || name.startsWith("lock.") || isDraft(name);
}

/** Whether it is the draft of one of ours. */
export function isDraft(name: string): boolean {
  return NAMES.some((ours) => name === ours + DRAFT_ENDING);
}
