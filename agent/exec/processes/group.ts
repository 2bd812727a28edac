import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isStarved } from "../../../disk/starved.ts";
import type { Resources } from "../../../src/schema/common.ts";
import { errorCode, readIfThere } from "../../files.ts";
import type { Hierarchy } from "./hierarchies.ts";
import { sendSignal } from "./signal.ts";

/** Shares of a processor in the kernel's units: a whole one has this many (`cpu.shares`, `cpu.weight`). */
const SHARES_PER_CPU = 1_024;
const WEIGHT_PER_CPU = 100;
const LEAST_SHARES = 2;
const MOST_SHARES = 262_144;
const MOST_WEIGHT = 10_000;

/** The cgroup of one attempt: a folder in each hierarchy. Its shim is in none, so it outlives its task. */
export interface Group {
  folders: { path: string; version: 1 | 2 }[];
}

/** What one attempt may use. */
export interface Limits extends Pick<Resources, "memoryBytes" | "vcpus"> {
  pids: number;
}

/**
 * Makes the cgroup of an attempt, with its limits. Memory is a limit, swap counts to it; processors are a
 * share and only count when there are not enough of them (host-protocol.md#limits). Zero bytes of memory
 * are no limit. Throws what the kernel says.
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

/** The files into which a process writes `0` to enter. */
export function entrancesOf({ folders }: Group): string[] {
  return folders.map(({ path }) => join(path, "cgroup.procs"));
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

/**
 * Kills all that is in the group, in whichever way the kernel has: `cgroup.kill` is one step and nothing
 * escapes it; else the group is held still while each of its processes is killed, so that none can fork.
 */
export function killGroup(group: Group): void {
  for (const { path } of group.folders) {
    if (!existsSync(join(path, "cgroup.kill"))) continue;
    tryWrite(join(path, "cgroup.kill"), "1");
    return;
  }
  hold(group, true);
  for (const pid of membersOf(group)) sendSignal(pid, "SIGKILL");
  hold(group, false);
}

/** Holds a group still or lets it go on, where the kernel can. With version 1 only what goes on can die. */
function hold({ folders }: Group, still: boolean): void {
  for (const { path, version } of folders) {
    if (version === 2) tryWrite(join(path, "cgroup.freeze"), still ? "1" : "0");
    else tryWrite(join(path, "freezer.state"), still ? "FROZEN" : "THAWED");
  }
}

/** All processes that are in one of its folders, or in one that was made below. */
export function membersOf({ folders }: Group): number[] {
  const pids = new Set<number>();
  for (const { path } of folders) {
    for (const folder of withBelow(path)) {
      for (const line of tryRead(join(folder, "cgroup.procs")).split("\n")) {
        if (line !== "") pids.add(Number(line));
      }
    }
  }
  return [...pids];
}

/**
 * Removes the group. True is the proof that nothing of it lives: the kernel removes no cgroup that has a
 * process in it (`cgroups(7)`).
 */
export function removeGroup({ folders }: Group): boolean {
  return folders.every(({ path }) => withBelow(path).reverse().every(removed));
}

function removed(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return errorCode(error) === "ENOENT";
  }
}

/** A folder and all below it, those above first. */
function withBelow(path: string): string[] {
  try {
    const below = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [path, ...below.flatMap(({ name }) => withBelow(join(path, name)))];
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [path];
    throw error;
  }
}

/** Empty if it cannot be read: it went in between, or is of a kind that lists none. Its removal tells. */
function tryRead(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (isStarved(error)) throw error;
    return "";
  }
}

function tryWrite(file: string, text: string): void {
  try {
    if (existsSync(file)) writeFileSync(file, text);
  } catch (error) {
    // It went in between, or the kernel is busy with it: the next look tells.
    if (!["ENOENT", "ENODEV", "EBUSY", "EOPNOTSUPP"].includes(errorCode(error) ?? "")) throw error;
  }
}
