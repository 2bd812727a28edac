import { lstatSync, type Stats } from "node:fs";

/** Bits of a mode by which others than the owner may write. */
const OTHERS_WRITE = 0o022;

/**
 * Why a state directory must not be used; undefined if only this user can change what lies in it. The agent
 * starts what it finds there, and root's agent starts it as root: so the directory belongs to the agent's
 * user, nobody else may write to it, and it is no link, which may come to lead elsewhere.
 */
export function strangeState(dir: string): string | undefined {
  return strangeness(lstatSync(dir), process.geteuid?.() ?? 0);
}

/** The rule alone, for the user `me`. */
export function strangeness(stats: Pick<Stats, "uid" | "mode" | "isSymbolicLink">, me: number) {
  if (stats.isSymbolicLink()) return "it is a link, and may come to lead elsewhere";
  if (stats.uid !== me) return `it belongs to user ${stats.uid}, and the agent is user ${me}`;
  if ((stats.mode & OTHERS_WRITE) === 0) return undefined;
  return `others may write to it (mode ${(stats.mode & 0o7777).toString(8)})`;
}
