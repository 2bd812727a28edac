// Does Git track a file or directory?
import { type SpawnSyncReturns, spawnSync } from "node:child_process";

/** Git answers at once, unless it hangs. */
const GIT_TIMEOUT_MS = 10_000;

/**
 * The first file that Git tracks there, or a clause that says why Git cannot tell. Undefined: Git tracks
 * nothing there, or is not installed.
 */
export type Tracked = { file: string } | { unclear: string } | undefined;

/**
 * Whether Git tracks `path`, a name in the directory `dir`, or anything below it. The repository is not
 * trusted: Git is kept from running programs that the repository's configuration names, such as those that
 * watch files or fetch the missing objects of a partial clone.
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
  // A list that is too long for the buffer ends Git with an error. The first name is enough.
  if (first !== "") return { file: first };
  if (done.status === 0 || isNoRepository(done)) return undefined;
  const [why = ""] = (done.stderr ?? "").split("\n");
  const what = path === "." ? "the directory" : "it";
  return { unclear: `Git cannot tell whether it tracks ${what}: ${why || (done.error ?? done.signal)}` };
}

/** Whether Git is not installed, or sees no repository that it may read for this user. */
function isNoRepository({ error, stderr }: SpawnSyncReturns<string>): boolean {
  if (error !== undefined) return "code" in error && error.code === "ENOENT";
  return /not a git repository|dubious ownership/i.test(stderr);
}
