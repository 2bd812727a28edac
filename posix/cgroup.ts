// What is in a cgroup, and how is it ended?
import { existsSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "./errors.ts";
import { readUnlessGone } from "./files.ts";
import { sendSignal } from "./proc.ts";

/** A cgroup: a folder in each hierarchy. */
export interface Group {
  folders: { path: string; version: 1 | 2 }[];
}

/** The files into which a process writes `0` to enter. */
export function entrancesOf({ folders }: Group): string[] {
  return folders.map(({ path }) => join(path, "cgroup.procs"));
}

/**
 * Kills all processes of the group. `cgroup.kill` does that in one step, and no process escapes. Without
 * `cgroup.kill`, the group is frozen while each process is killed, so that no process can fork.
 */
export function killGroup(group: Group): void {
  for (const { path } of group.folders) {
    if (!existsSync(join(path, "cgroup.kill"))) continue;
    tryWrite(join(path, "cgroup.kill"), "1");
    return;
  }
  freeze(group, true);
  for (const pid of membersOf(group)) sendSignal(pid, "SIGKILL");
  freeze(group, false);
}

/** Freezes or thaws a group, where the kernel can. In version 1 a killed process dies only once thawed. */
function freeze({ folders }: Group, frozen: boolean): void {
  for (const { path, version } of folders) {
    if (version === 2) tryWrite(join(path, "cgroup.freeze"), frozen ? "1" : "0");
    else tryWrite(join(path, "freezer.state"), frozen ? "FROZEN" : "THAWED");
  }
}

/**
 * All processes of the group and of groups below it. An empty list proves nothing: a group may have been
 * removed meanwhile. Only `removeGroup` proves that no process lives.
 */
export function membersOf({ folders }: Group): number[] {
  const pids = new Set<number>();
  for (const { path } of folders) {
    for (const folder of withBelow(path)) {
      for (const line of readUnlessGone(join(folder, "cgroup.procs")).split("\n")) {
        if (line !== "") pids.add(Number(line));
      }
    }
  }
  return [...pids];
}

/**
 * Removes the group. True proves that none of its processes lives: the kernel refuses to remove a cgroup with
 * a process in it (`cgroups(7)`).
 */
export function removeGroup({ folders }: Group): boolean {
  // Few groups have groups below them, and to list a cgroup takes longer than to remove it.
  return folders.every(({ path }) => removed(path) || withBelow(path).reverse().every(removed));
}

function removed(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return errorCode(error) === "ENOENT";
  }
}

/** A folder and all folders below it, parents first. */
function withBelow(path: string): string[] {
  try {
    const below = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [path, ...below.flatMap(({ name }) => withBelow(join(path, name)))];
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [path];
    throw error;
  }
}

function tryWrite(file: string, text: string): void {
  try {
    if (existsSync(file)) writeFileSync(file, text);
  } catch (error) {
    // The group was removed meanwhile, or the kernel is busy with it. The caller tries again.
    if (!["ENOENT", "ENODEV", "EBUSY", "EOPNOTSUPP"].includes(errorCode(error) ?? "")) throw error;
  }
}
