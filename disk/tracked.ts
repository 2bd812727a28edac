import { type SpawnSyncReturns, spawnSync } from "node:child_process";

/** Git answers at once. One that hangs is no reason to wait. */
const GIT_TIMEOUT_MS = 10_000;

/**
 * What Git says of a directory: a file in it that Git tracks, why Git cannot tell, or neither: it tracks
 * nothing there, or there is no Git.
 */
export type Tracked = { file: string } | { unclear: string } | undefined;

/**
 * Asks Git whether it tracks `path`, a name in the directory `dir`, or anything below it. The repository is
 * not trusted: Git runs no program that its configuration may name, be it to watch files or to fetch what a
 * partial clone has left out.
 */
export function trackedIn(dir: string, path = "."): Tracked {
  const args = ["-c", "core.fsmonitor=false", "-C", dir, "ls-files", "-z", "--", path];
  const env = {
    PATH: process.env.PATH,
    LC_ALL: "C",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ALLOW_PROTOCOL: "none",
  };
  const done = spawnSync("git", args, { env, timeout: GIT_TIMEOUT_MS, encoding: "utf8" });
  const [first = ""] = done.stdout?.split("\0") ?? [];
  // The list may be too long to be read whole. The first name is enough.
  if (first !== "") return { file: first };
  if (done.status === 0 || isNoRepository(done)) return undefined;
  const [why = ""] = (done.stderr ?? "").split("\n");
  return { unclear: why || String(done.error ?? done.signal) };
}

/** Whether there is no Git, or no repository that Git would look into for this user. */
function isNoRepository({ error, stderr }: SpawnSyncReturns<string>): boolean {
  if (error !== undefined) return "code" in error && error.code === "ENOENT";
  return /not a git repository|dubious ownership/i.test(stderr);
}
