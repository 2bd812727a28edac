// In which cgroups is this process?
import { join } from "node:path";
import { tryReadText } from "./files.ts";

export interface OwnCgroup {
  path: string;
  version: 1 | 2;
  /** The controllers of a hierarchy of version 1. */
  controls: Set<string>;
}

/** Controllers of version 1 that a task's cgroup uses. `freezer` stops forks during a kill. */
const WORTH_A_GROUP = ["memory", "pids", "cpu", "freezer"];

/**
 * The cgroup of this process in each useful hierarchy, if the kernel lists this process in it. `files`
 * replaces `/proc/self` in tests.
 */
export function ownCgroups(files = "/proc/self"): OwnCgroup[] {
  const own = ownPaths(tryReadText(join(files, "cgroup")) ?? "");
  const found = new Map<string, OwnCgroup>();
  for (const line of (tryReadText(join(files, "mountinfo")) ?? "").split("\n")) {
    const mount = parseMount(line);
    const inHierarchy = mount === undefined ? undefined : own.get(mount.key);
    if (mount === undefined || inHierarchy === undefined) continue;
    const { point, root, version, controls } = mount;
    const below =
      root === "/" ? inHierarchy : inHierarchy.startsWith(root) ? inHierarchy.slice(root.length) : "";
    const path = join(point, below);
    const members = (tryReadText(join(path, "cgroup.procs")) ?? "").split("\n");
    if (members.includes(String(process.pid)) && !found.has(path))
      found.set(path, { path, version, controls });
  }
  return [...found.values()];
}

interface Mount {
  /** One of the hierarchy's controllers, as `/proc/self/cgroup` names it; empty for version 2. */
  key: string;
  version: 1 | 2;
  controls: Set<string>;
  root: string;
  point: string;
}

/**
 * Reads a line of `mountinfo` (`proc_pid_mountinfo(5)`); undefined unless the mount is a useful hierarchy.
 */
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

/** The path of this process in each hierarchy, by each controller of the hierarchy. */
function ownPaths(text: string): Map<string, string> {
  const paths = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, controls = "", path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path !== undefined) for (const control of controls.split(",")) paths.set(control, path);
  }
  return paths;
}
