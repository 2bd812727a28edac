// What may the cgroup of an attempt use?
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirs } from "../../../disk/make-dirs.ts";
import type { Group } from "../../../posix/cgroup.ts";
import { readIfThere } from "../../../posix/files.ts";
import type { Resources } from "../../../src/schema/common.ts";
import type { Control, Hierarchy } from "./hierarchies.ts";

/** The value that stands for one whole processor in the kernel's units (`cpu.shares`, `cpu.weight`). */
const SHARES_PER_CPU = 1_024;
const WEIGHT_PER_CPU = 100;
const LEAST_SHARES = 2;
const MOST_SHARES = 262_144;
const MOST_WEIGHT = 10_000;

/** What one attempt may use. */
export interface Limits extends Pick<Resources, "memoryBytes" | "vcpus"> {
  pids: number;
}

/**
 * Creates the cgroup of an attempt, with its limits. The shim stays outside the cgroup, so that it outlives
 * its task. Memory is a hard limit that includes swap; zero means no limit. Processors are a share, which
 * matters only when they are scarce (host-protocol.md#limits). Throws the kernel's error.
 */
export function makeGroup(hierarchies: Hierarchy[], name: string, limits: Limits): Group {
  const folders = hierarchies.map(({ parent, version, limits: controls }) => {
    const path = join(parent, name);
    makeDirs(path);
    for (const [file, value] of controls.flatMap((control) => settingsOf(version, control, limits))) {
      // If the kernel has no such file, it does not know this limit. If it refuses the value, the write
      // throws.
      if (existsSync(join(path, file))) writeFileSync(join(path, file), String(value));
    }
    return { path, version };
  });
  return { folders };
}

function settingsOf(version: 1 | 2, control: Control, limits: Limits): [file: string, value: number][] {
  const { memoryBytes, vcpus, pids } = limits;
  // A task that asks for no processor gets the share of an ordinary process.
  const cpus = vcpus === 0 ? 1 : vcpus;
  switch (control) {
    case "pids":
      return [["pids.max", pids]];
    case "cpu":
      return version === 1
        ? [["cpu.shares", between(LEAST_SHARES, cpus * SHARES_PER_CPU, MOST_SHARES)]]
        : [["cpu.weight", between(1, cpus * WEIGHT_PER_CPU, MOST_WEIGHT)]];
    case "memory":
      if (memoryBytes === 0) return [];
      if (version === 2)
        return [
          ["memory.max", memoryBytes],
          ["memory.swap.max", 0],
          ["memory.oom.group", 1],
        ];
      // In this order: the limit with swap must never be below the limit without swap.
      return [
        ["memory.limit_in_bytes", memoryBytes],
        ["memory.memsw.limit_in_bytes", memoryBytes],
      ];
  }
}

function between(least: number, value: number, most: number): number {
  return Math.min(most, Math.max(least, Math.round(value)));
}

/** How many processes of the group the kernel has killed because the group had used up its memory. */
export function outOfMemoryKills({ folders }: Group): number {
  let kills = 0;
  for (const { path, version } of folders) {
    const text = readIfThere(join(path, version === 2 ? "memory.events" : "memory.oom_control")) ?? "";
    kills += Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }
  return kills;
}
