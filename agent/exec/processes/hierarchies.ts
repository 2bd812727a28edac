// Where on this machine may the agent create cgroups, and what can these limit?
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { tryReadText } from "../../../posix/files.ts";
import { ownCgroups } from "../../../posix/own-cgroups.ts";

/** What a cgroup can limit. */
export type Control = "memory" | "pids" | "cpu";

/** A folder of the cgroup file system below which this agent may create cgroups with these limits. */
export interface Hierarchy {
  parent: string;
  version: 1 | 2;
  limits: Control[];
}

const LIMITS: readonly Control[] = ["memory", "pids", "cpu"];

/**
 * The cgroup of the agent itself if a service manager has put it there, as systemd does with
 * `DelegateSubgroup=`. The cgroups of attempts then lie beside it. Version 2 needs that for limits, because a
 * cgroup that delegates controllers must not contain a process. The agent never moves itself to another
 * cgroup: if it did, a service manager could not restart it.
 */
const AGENT_LEAF = "drover-agent";

/**
 * Finds where below the agent's own cgroups new cgroups can be created: in version 1, version 2 or both
 * (tools.md#processes-and-cgroups). The function tries this by creating a cgroup in each place. `files`
 * replaces `/proc/self` in tests.
 */
export function findHierarchies(files = "/proc/self"): Hierarchy[] {
  const found: (Hierarchy & { kills: boolean })[] = [];
  for (const { path, version, controls } of ownCgroups(files)) {
    const parent = basename(path) === AGENT_LEAF ? dirname(path) : path;
    const limits = version === 2 ? delegateControllers(parent) : LIMITS.filter((one) => controls.has(one));
    const kills = tryToMake(parent);
    if (kills !== undefined) found.push({ parent, version, limits, kills });
  }
  // Without limits, a version 1 hierarchy could only freeze processes, and `cgroup.kill` makes that
  // unnecessary.
  const kills = found.some((one) => one.kills);
  return found.filter(({ version, limits }) => version === 2 || limits.length > 0 || !kills);
}

/**
 * Delegates the controllers of a version 2 cgroup, as far as the kernel allows. Returns the controllers that
 * are delegated.
 */
function delegateControllers(parent: string): Control[] {
  const namesIn = (name: string) => new Set((tryReadText(join(parent, name)) ?? "").trim().split(" "));
  const offered = namesIn("cgroup.controllers");
  for (const control of LIMITS) {
    if (!offered.has(control) || namesIn("cgroup.subtree_control").has(control)) continue;
    try {
      writeFileSync(join(parent, "cgroup.subtree_control"), `+${control}`);
    } catch {
      // The kernel refuses this while a process is in the cgroup, or if the cgroup is not delegated to this
      // user.
    }
  }
  const handed = namesIn("cgroup.subtree_control");
  return LIMITS.filter((control) => handed.has(control));
}

/**
 * Creates a cgroup and removes it. Returns whether it had `cgroup.kill`; undefined if no cgroup can be
 * created.
 */
function tryToMake(parent: string): boolean | undefined {
  const trial = join(parent, `drover-trial-${process.pid}`);
  try {
    mkdirSync(trial);
    const kills = existsSync(join(trial, "cgroup.kill"));
    rmdirSync(trial);
    return kills;
  } catch {
    return undefined;
  }
}
