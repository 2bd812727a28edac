import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readIfThere } from "../../files.ts";

/** What a cgroup can limit. */
export type Control = "memory" | "pids" | "cpu";

/** A folder of the cgroup file system below which this agent may make cgroups, and what they are good for. */
export interface Hierarchy {
  parent: string;
  version: 1 | 2;
  limits: Control[];
}

/** Controllers of version 1 that are worth a cgroup. `freezer` holds still what is being killed. */
const WORTH_A_GROUP = ["memory", "pids", "cpu", "freezer"];
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
  const own = ownPaths(readIfThere(join(files, "cgroup")) ?? "");
  const mounts = (readIfThere(join(files, "mountinfo")) ?? "").split("\n").map(parseMount);
  const found: (Hierarchy & Trial)[] = [];
  for (const mount of mounts) {
    const path = mount === undefined ? undefined : own.get(mount.key);
    if (mount === undefined || path === undefined) continue;
    const parent = parentIn(mount.point, mount.root, path);
    if (parent === undefined || found.some((other) => other.parent === parent)) continue;
    const limits = mount.version === 2 ? handDown(parent) : LIMITS.filter((one) => mount.controls.has(one));
    const trial = tryOut(parent);
    if (trial !== undefined) found.push({ parent, version: mount.version, limits: [...limits], ...trial });
  }
  // Where the kernel kills a group in one step, nothing need be held still for it.
  const kills = found.some((one) => one.kills);
  return found.filter(({ version, limits }) => version === 2 || limits.length > 0 || !kills);
}

interface Mount {
  /** What stands in `/proc/self/cgroup` for it: its controllers, or nothing for version 2. */
  key: string;
  version: 1 | 2;
  controls: Set<string>;
  root: string;
  point: string;
}

/** Reads a line of `mountinfo` (`proc_pid_mountinfo(5)`), if it is a hierarchy of use. */
function parseMount(line: string): Mount | undefined {
  const [before = "", after = ""] = line.split(" - ");
  const [, , , root = "", point = ""] = before.split(" ");
  const [type, , options = ""] = after.split(" ");
  if (type === "cgroup2") return { key: "", version: 2, controls: new Set(), root, point };
  const controls = new Set(options.split(","));
  const useful = WORTH_A_GROUP.find((control) => controls.has(control));
  return type === "cgroup" && useful !== undefined
    ? { key: useful, version: 1, controls, root, point }
    : undefined;
}

/** The path of this process in each hierarchy, by each of its controllers. */
function ownPaths(text: string): Map<string, string> {
  const paths = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, controls = "", path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path !== undefined) for (const control of controls.split(",")) paths.set(control, path);
  }
  return paths;
}

/** The folder for our cgroups: our own one, if the kernel agrees that we are in it. */
function parentIn(point: string, root: string, path: string): string | undefined {
  const below = root === "/" ? path : path.startsWith(root) ? path.slice(root.length) : "";
  const own = join(point, below);
  const members = tryRead(join(own, "cgroup.procs")).split("\n");
  if (!members.includes(String(process.pid))) return undefined;
  return basename(own) === AGENT_LEAF ? dirname(own) : own;
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
