// Which cgroup does an instance of the loopback cloud get?
import { existsSync, mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { ownCgroups } from "../../posix/own-cgroups.ts";

/**
 * Creates a cgroup (version 2, also in the hybrid mount) for one instance below the cgroup of this process,
 * so that our own limits apply to the instance. Returns its directory, or undefined if this machine does not
 * allow it or the kernel cannot kill a whole group (before Linux 5.14): then the processes are found by their
 * mark.
 */
export function makeCgroup(name: string): string | undefined {
  const own = ownCgroups().find(({ version }) => version === 2);
  if (own === undefined) return undefined;
  const path = join(own.path, name);
  try {
    mkdirSync(path);
  } catch {
    return undefined;
  }
  if (existsSync(join(path, "cgroup.kill"))) return path;
  rmdirSync(path);
  return undefined;
}
