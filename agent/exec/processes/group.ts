// What may an attempt use, and what becomes of one that uses more?
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Group } from "../../../posix/cgroup.ts";
import { readIfThere } from "../../../posix/files.ts";
import type { Resources } from "../../../src/schema/common.ts";
import type { Hierarchy } from "./hierarchies.ts";

/** Shares of a processor in the kernel's units: a whole one has this many (`cpu.shares`, `cpu.weight`). */
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
 * Makes the cgroup of an attempt, with its limits. Its shim is in none, so it outlives its task. Memory is a
 * limit, swap counts to it; processors are a share and only count when there are not enough of them
 * (host-protocol.md#limits). Zero bytes of memory are no limit. Throws what the kernel says.
 */
export function makeGroup(hierarchies: Hierarchy[], name: string, limits: Limits): Group {
  const folders = hierarchies.map(({ parent, version }) => ({ path: join(parent, name), version }));
  for (const [index, { path, version }] of folders.entries()) {
    mkdirSync(path, { recursive: true });
    for (const control of hierarchies[index]?.limits ?? []) {
      for (const [file, value] of SETTINGS[version][control](limits)) write(join(path, file), value);
    }
  }
  return { folders };
}

type Settings = [file: string, value: number][];

const SETTINGS = {
  1: {
    // In this order: memory with swap must never be below memory alone.
    memory: ({ memoryBytes }: Limits): Settings =>
      memoryBytes === 0
        ? []
        : [
            ["memory.limit_in_bytes", memoryBytes],
            ["memory.memsw.limit_in_bytes", memoryBytes],
          ],
    pids: ({ pids }: Limits): Settings => [["pids.max", pids]],
    cpu: (limits: Limits): Settings => [
      ["cpu.shares", between(LEAST_SHARES, cpusOf(limits) * SHARES_PER_CPU, MOST_SHARES)],
    ],
  },
  2: {
    memory: ({ memoryBytes }: Limits): Settings =>
      memoryBytes === 0
        ? []
        : [
            ["memory.max", memoryBytes],
            ["memory.swap.max", 0],
            ["memory.oom.group", 1],
          ],
    pids: ({ pids }: Limits): Settings => [["pids.max", pids]],
    cpu: (limits: Limits): Settings => [
      ["cpu.weight", between(1, cpusOf(limits) * WEIGHT_PER_CPU, MOST_WEIGHT)],
    ],
  },
} as const;

/** What asks for no processor has none set aside for it, and yet the share of an ordinary process. */
function cpusOf({ vcpus }: Limits): number {
  return vcpus === 0 ? 1 : vcpus;
}

function between(least: number, value: number, most: number): number {
  return Math.min(most, Math.max(least, Math.round(value)));
}

/** A kernel without this file cannot limit that; one that has it and refuses is an error. */
function write(file: string, value: number): void {
  if (existsSync(file)) writeFileSync(file, String(value));
}

/** How many of its processes were killed because its memory was used up. */
export function outOfMemoryKills({ folders }: Group): number {
  let kills = 0;
  for (const { path, version } of folders) {
    const text = readIfThere(join(path, version === 2 ? "memory.events" : "memory.oom_control")) ?? "";
    kills += Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }
  return kills;
}
