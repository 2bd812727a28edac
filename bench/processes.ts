// How much time of a processor do the parts of a Drover take?
import { readdirSync, readFileSync } from "node:fs";
import type { Drover } from "./drover.ts";

/** The kernel counts processor time in hundredths of a second (`USER_HZ`, the same on each Linux). */
const MS_A_TICK = 10;

/** The parts of a Drover on one machine, and how many milliseconds of a processor each has taken so far. */
export interface PartTimes {
  /** workerd: the control plane, and the bucket that Miniflare plays. */
  controlPlane: number;
  /** The process of `drover up`, which passes requests on and plays the cloud. */
  up: number;
  agents: number;
  /** What agents have started: those that live, and those that have ended and were waited for. */
  children: number;
}

interface Process {
  pid: number;
  parent: number;
  name: string;
  ownMs: number;
  /** Of its children that have ended, and of theirs. */
  endedMs: number;
}

/** How many milliseconds of a processor the parts of a Drover have taken since they began. */
export function partTimes(drover: Drover): PartTimes {
  const all = readProcesses();
  const agents = new Set(agentsOf(drover));
  const sum = (chosen: Process[], field: "ownMs" | "endedMs") =>
    chosen.reduce((ms, one) => ms + one[field], 0);
  const ofAgents = all.filter(({ pid }) => agents.has(pid));
  const below = all.filter((one) => !agents.has(one.pid) && descends(one, agents, all));
  return {
    controlPlane: sum(
      all.filter(({ parent, name }) => parent === drover.pid && name === "workerd"),
      "ownMs",
    ),
    up: sum(
      all.filter(({ pid }) => pid === drover.pid),
      "ownMs",
    ),
    agents: sum(ofAgents, "ownMs"),
    children: sum(ofAgents, "endedMs") + sum(below, "ownMs") + sum(below, "endedMs"),
  };
}

/** The processes of a Drover's agents. */
export function agentsOf({ dir }: Drover): number[] {
  return pids().filter((pid) => {
    const [, script = ""] = read(`/proc/${pid}/cmdline`).split("\0");
    return script.startsWith(dir) && script.endsWith("drover-agent.mjs");
  });
}

/** What each part has taken between two looks. */
export function between(before: PartTimes, after: PartTimes): PartTimes {
  const spent = (part: keyof PartTimes) => after[part] - before[part];
  return {
    controlPlane: spent("controlPlane"),
    up: spent("up"),
    agents: spent("agents"),
    children: spent("children"),
  };
}

function descends(one: Process, from: ReadonlySet<number>, all: Process[]): boolean {
  for (let at: Process | undefined = one; at !== undefined; at = all.find(({ pid }) => pid === at?.parent)) {
    if (from.has(at.pid)) return true;
  }
  return false;
}

function pids(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

function readProcesses(): Process[] {
  return pids().flatMap((pid) => {
    const stat = read(`/proc/${pid}/stat`);
    // The name stands in parentheses, and may have some itself.
    const [name, rest] = [
      stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")),
      stat.slice(stat.lastIndexOf(")") + 2),
    ];
    const fields = rest.split(" ").map(Number);
    const [parent] = fields.slice(1);
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
    const ms = { ownMs: (user + system) * MS_A_TICK, endedMs: (endedUser + endedSystem) * MS_A_TICK };
    return parent === undefined ? [] : [{ pid, parent, name, ...ms }];
  });
}

/** The text of a file of /proc, or nothing if the process has just ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
