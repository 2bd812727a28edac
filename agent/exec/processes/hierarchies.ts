// Where on this machine may the agent make cgroups, and what can these limit?
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ownCgroups } from "../../../posix/own-cgroups.ts";

/** What a cgroup can limit. */
export type Control = "memory" | "pids" | "cpu";

/** A folder of the cgroup file system below which this agent may make cgroups, and what they are good for. */
export interface Hierarchy {
  parent: string;
  version: 1 | 2;
  limits: Control[];
}

const LIMITS: readonly Control[] = ["memory", "pids", "cpu"];

/**
 * The leaf into which whoever starts the agent may put it, as systemd does by `DelegateSubgroup=`: then the
 * cgroups of attempts lie beside it. With version 2 that is what limits need below the root, because a
 * cgroup that hands controllers down must hold no process. The agent itself never moves: a service manager
 * could not start it again.
 */
const AGENT_LEAF = "drover-agent";

/**
 * Where cgroups can be made on this machine, found by making one in each place
 * (tools.md#processes-and-cgroups: per capability, version 1, version 2 and both, nested below the agent's
 * own). `files` stands for `/proc/self`.
 */
export function findHierarchies(files = "/proc/self"): Hierarchy[] {
  const found: (Hierarchy & Trial)[] = [];
  for (const { path, version, controls } of ownCgroups(files)) {
    const parent = basename(path) === AGENT_LEAF ? dirname(path) : path;
    const limits = version === 2 ? handDown(parent) : LIMITS.filter((one) => controls.has(one));
    const trial = tryOut(parent);
    if (trial !== undefined) found.push({ parent, version, limits, ...trial });
  }
  // Where the kernel kills a group in one step, nothing need be frozen for it.
  const kills = found.some((one) => one.kills);
  return found.filter(({ version, limits }) => version === 2 || limits.length > 0 || !kills);
}

/** Has a cgroup of version 2 hand its controllers down, as far as the kernel lets it. */
function handDown(parent: string): Control[] {
  const words = (name: string) => new Set(tryRead(join(parent, name)).trim().split(" "));
  const offered = words("cgroup.controllers");
  for (const control of LIMITS) {
    if (!offered.has(control) || words("cgroup.subtree_control").has(control)) continue;
    try {
      writeFileSync(join(parent, "cgroup.subtree_control"), `+${control}`);
    } catch {
      // Refused while a process is in it, or to whom it is not delegated: then it is not to be had.
    }
  }
  const handed = words("cgroup.subtree_control");
  return LIMITS.filter((control) => handed.has(control));
}

/** What a cgroup that was made to see whether one can be made has. */
interface Trial {
  kills: boolean;
}

/** Makes a cgroup and removes it; undefined if that cannot be done here. */
function tryOut(parent: string): Trial | undefined {
  const trial = join(parent, `drover-trial-${process.pid}`);
  try {
    mkdirSync(trial);
    const kills = existsSync(join(trial, "cgroup.kill"));
    rmdirSync(trial);
    return { kills };
  } catch {
    return undefined;
  }
}

function tryRead(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
