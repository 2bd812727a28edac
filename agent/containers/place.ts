// Which processes of this machine belong to a container, and what do they use?
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Group } from "../../posix/cgroup.ts";
import { isStarved } from "../../posix/errors.ts";
import { isThere, readUnlessGone } from "../../posix/files.ts";
import { environmentOf, listPids, type Proc, readProc } from "../../posix/proc.ts";

/** Where the kernel shows the hierarchies of cgroups. */
const ROOT = "/sys/fs/cgroup";

/**
 * The first process of a container, by the pid that its engine says. Undefined: it has ended, or the engine
 * counts pids of another namespace. `marks`: the entries that identify the attempt (`markersOf`).
 */
export function mainOf(pid: number, marks: readonly string[]): Proc | undefined {
  if (pid <= 0) return undefined;
  const proc = readProc(pid);
  return proc !== undefined && isMarked(pid, marks) ? proc : undefined;
}

/** The pids of all processes with these marks, in their order. */
export function straysOf(marks: readonly string[]): number[] {
  return listPids().filter((pid) => isMarked(pid, marks));
}

function isMarked(pid: number, marks: readonly string[]): boolean {
  const environment = environmentOf(pid);
  return marks.every((mark) => environment.includes(mark));
}

/** The pids of all processes in a cgroup that is named after a container, even if its engine has lost it. */
export function inCgroupOf(container: string): number[] {
  return listPids().filter((pid) => readUnlessGone(`/proc/${pid}/cgroup`).includes(container));
}

/**
 * The cgroups of a container, one in each hierarchy. Only folders with the container's id count: an engine
 * that makes none leaves its containers in a cgroup with processes of others, which nobody may kill. Throws
 * if the system is starved.
 */
export function groupOf(pid: number, container: string): Group | undefined {
  const lines = readUnlessGone(`/proc/${pid}/cgroup`).split("\n");
  const folders = lines.flatMap((line) => {
    const [, controls = "", path = ""] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    const own = upTo(path, container);
    const point = own === undefined ? undefined : mountOf(controls);
    return own === undefined || point === undefined
      ? []
      : [{ path: join(point.path, own), version: point.version }];
  });
  return folders.length === 0 ? undefined : { folders };
}

/** The part of a path up to the folder of the container: below it an engine may have put the process. */
function upTo(path: string, container: string): string | undefined {
  const parts = path.split("/");
  const at = parts.findIndex((part) => part.includes(container));
  return at < 0 ? undefined : parts.slice(0, at + 1).join("/");
}

function mountOf(controls: string): { path: string; version: 1 | 2 } | undefined {
  if (controls === "") {
    const isUnified = isThere(join(ROOT, "cgroup.controllers"));
    const hybrid = isThere(join(ROOT, "unified", "cgroup.controllers"));
    return isUnified
      ? { path: ROOT, version: 2 }
      : hybrid
        ? { path: join(ROOT, "unified"), version: 2 }
        : undefined;
  }
  const name = controls.startsWith("name=") ? controls.slice("name=".length) : controls;
  const found = [name, ...name.split(",")].find((one) => readable(join(ROOT, one)));
  return found === undefined ? undefined : { path: join(ROOT, found), version: 1 };
}

function readable(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch (error) {
    if (isStarved(error)) throw error;
    return false;
  }
}

/** The user and group ids of a user of an image, by the image's list of users; undefined: it is not in it. */
export function userIn(passwd: string, user: string): { uid: number; gid: number } | undefined {
  for (const line of passwd.split("\n")) {
    const [name, , uid = "", gid = ""] = line.split(":");
    if ((name === user || uid === user) && /^\d+$/.test(uid) && /^\d+$/.test(gid))
      return { uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}
