import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf } from "../state/files.ts";

/** After `cgroup.kill`, how long to wait until the kernel lets the group go. */
const EMPTY_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 10;

/**
 * Makes a cgroup (version 2, also in the hybrid mount) for one instance below this process's own, so that the
 * instance stays within the limits that we have ourselves. Returns its directory, or undefined where the
 * machine does not allow it or the kernel cannot kill a whole group (before Linux 5.14): then processes are
 * looked for instead.
 */
export function makeCgroup(name: string): string | undefined {
  const own = ownCgroup();
  if (own === undefined) return undefined;
  const path = join(own, name);
  try {
    mkdirSync(path);
  } catch {
    return undefined;
  }
  if (readdirSync(path).includes("cgroup.kill")) return path;
  rmdirSync(path);
  return undefined;
}

/**
 * Ends every process in a cgroup and removes it. The removal is the proof: the kernel refuses it (`EBUSY`) as
 * long as anything lives in the group, or has just entered it. Throws if that lasts for ten seconds.
 */
export async function endCgroup(path: string): Promise<void> {
  const deadline = performance.now() + EMPTY_WITHIN_MS;
  while (!isRemoved(path)) {
    if (performance.now() > deadline) throw new Error(`The kernel cannot empty the cgroup ${path}.`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** Kills whatever is in a cgroup, and tells whether it and those that were made below it could be removed. */
function isRemoved(path: string): boolean {
  try {
    writeFileSync(join(path, "cgroup.kill"), "1");
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory() && !isRemoved(join(path, entry.name))) return false;
    }
    rmdirSync(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return true;
    if (errnoOf(error) === "EBUSY") return false;
    throw error;
  }
}

/** The directory of the cgroup that this process is in: found only if the kernel lists us in it. */
function ownCgroup(): string | undefined {
  try {
    const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    const mount = mounts.find((line) => line.includes(" - cgroup2 "))?.split(" ")[4];
    const own = /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1];
    if (mount === undefined || own === undefined) return undefined;
    const path = join(mount, own);
    const members = readFileSync(join(path, "cgroup.procs"), "utf8").split("\n");
    return members.includes(String(process.pid)) ? path : undefined;
  } catch {
    return undefined;
  }
}
