// Is the state directory safe from other users?
import { lstatSync, type Stats } from "node:fs";

/** Bits of a mode that allow group and others to write. */
const OTHERS_WRITE = 0o022;

/**
 * Why a state directory must not be used; undefined if only the agent's user can change its content. The
 * agent executes what it finds there, as root if it is root. So the directory must belong to the agent's
 * user, nobody else may write to it, and it must not be a link, whose target can change.
 */
export function stateDirFault(dir: string): string | undefined {
  return faultOfStats(lstatSync(dir), process.geteuid?.() ?? 0);
}

/** The rule of `stateDirFault`, for the user `me`. */
export function faultOfStats(stats: Pick<Stats, "uid" | "mode" | "isSymbolicLink">, me: number) {
  if (stats.isSymbolicLink()) return "it is a symbolic link, whose target can change";
  if (stats.uid !== me) return `it belongs to user ${stats.uid}, and the agent is user ${me}`;
  if ((stats.mode & OTHERS_WRITE) === 0) return undefined;
  return `others may write to it (mode ${(stats.mode & 0o7777).toString(8)})`;
}
