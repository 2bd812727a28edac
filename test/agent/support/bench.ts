import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { closedOnWay } from "../../../agent/exec/files/way.ts";
import { removeGroup } from "../../../posix/cgroup.ts";
import { agentOptions } from "../../../scripts/bundles.mjs";
import type { AttemptOrder } from "../../../src/schema/host.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import { CODE, FakePlane } from "./fake-plane.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** An agent that runs. */
export interface RunningAgent {
  child: ChildProcess;
  stderr: () => string;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** A directory, a control plane, and agents on them. */
export interface Bench {
  dir: string;
  stateDir: string;
  plane: FakePlane;
  /** Starts an agent; it may be the second one on the same state. */
  start(env?: Record<string, string>, more?: string[]): RunningAgent;
  /** Calls the agent with these arguments alone. */
  startWith(args: string[]): RunningAgent;
  /** Pids of all living processes of this bench but the agents themselves and the watchdog of their lease. */
  processes(): number[];
  /** The pid of the watchdog, if one lives. */
  watchdog(): number | undefined;
  close(): Promise<void>;
}

/**
 * Where benches lie: in the checkout. Below a directory that others may not enter, such as `/root`, the tests
 * of root need another place, because they run commands as other users.
 */
function placeOfBenches(): string {
  const cache = join(ROOT, ".cache");
  mkdirSync(cache, { recursive: true });
  const isClosed = process.geteuid?.() === 0 && closedOnWay(cache) !== undefined;
  return isClosed ? "/tmp" : cache;
}

/** Builds the agent as `scripts/build.mjs` does and opens a control plane for it. */
export async function openBench(): Promise<Bench> {
  const dir = mkdtempSync(join(placeOfBenches(), "agent-"));
  const file = join(dir, "drover-agent.mjs");
  await build(agentOptions("0.0.0-test", file));
  writeFileSync(join(dir, "code"), `${CODE}\n`);
  const plane = await new FakePlane().start();
  const stateDir = join(dir, "state");
  const marker = `DROVER_INSTANCE=${dir}`;
  const agents: RunningAgent[] = [];
  const startWith = (args: string[], env: Record<string, string> = {}): RunningAgent => {
    const agent = startAgent([file, ...args], { DROVER_INSTANCE: dir, DROVER_BOOT_ID: "boot-1", ...env });
    agents.push(agent);
    return agent;
  };
  const usual = ["--url", plane.url, "--state", stateDir, "--code-file", join(dir, "code")];
  return {
    dir,
    stateDir,
    plane,
    start: (env, more = []) => startWith([...usual, ...more], env),
    startWith,
    // The second look at the mark leaves out a sleep of the watchdog that ended while it was looked at.
    processes: () =>
      marked(marker, agents).filter(
        (pid) => !isWatchdog(pid) && !isForkOf(agents, pid) && isMarked(pid, marker),
      ),
    watchdog: () => marked(marker, agents).find((pid) => isWatchdog(pid) && !isSleep(pid)),
    async close() {
      await plane.close();
      for (const { child } of agents) child.kill("SIGKILL");
      await Promise.all(agents.map(({ ended }) => ended));
      for (const pid of marked(marker, agents)) killIfThere(pid);
      const groups = join(stateDir, "groups");
      for (const name of existsSync(groups) ? readdirSync(groups) : []) {
        const group = JSON.parse(readFileSync(join(groups, name), "utf8"));
        await until(() => removeGroup(group));
      }
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A sleep of the watchdog ends by itself. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It was faster.
  }
}

/** The kernel lets a cgroup go a moment after its last process. */
async function until(done: () => boolean): Promise<void> {
  for (const late = Date.now() + 10_000; !done(); await sleep(10)) {
    if (Date.now() > late) throw new Error("a cgroup cannot be removed: something of the test lives in it");
  }
}

function startAgent(args: string[], env: Record<string, string>): RunningAgent {
  const child = spawn(plainNode(), args, { env, stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr?.on("data", (text) => {
    stderr += text;
  });
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  return { child, stderr: () => stderr, ended };
}

let found: string | undefined;

/** The Node 20 that a host has, if this machine has one; else the one that runs the tests. */
function plainNode(): string {
  found ??= (process.env.PATH ?? "")
    .split(":")
    .map((folder) => join(folder, "node"))
    .filter((file) => !file.includes("node_modules") && existsSync(file))
    .find((file) => execFileSync(file, ["--version"], { encoding: "utf8" }).startsWith("v20."));
  return found ?? process.execPath;
}

function marked(marker: string, agents: RunningAgent[]): number[] {
  const own = new Set(agents.map(({ child }) => child.pid));
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && !own.has(pid) && isMarked(pid, marker));
}

/** The shell that guards the lease, or what it sleeps by. */
function isWatchdog(pid: number): boolean {
  return [pid, parentOf(pid)].some((one) => argumentsOf(one).includes("drover-watchdog"));
}

/** What an agent is about to start is a copy of the agent for a moment, between fork and exec. */
function isForkOf(agents: RunningAgent[], pid: number): boolean {
  const parent = agents.find(({ child }) => child.pid === parentOf(pid))?.child.pid;
  return parent !== undefined && argumentsOf(parent).join(" ") === argumentsOf(pid).join(" ");
}

function isSleep(pid: number): boolean {
  return argumentsOf(pid)[0] === "sleep";
}

function argumentsOf(pid: number): string[] {
  return readProcFile(pid, "cmdline").split("\0");
}

function parentOf(pid: number): number {
  const stat = readProcFile(pid, "stat");
  return Number(stat.slice(stat.lastIndexOf(")")).split(" ")[2]);
}

function readProcFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

function isMarked(pid: number, marker: string): boolean {
  return readProcFile(pid, "environ").split("\0").includes(marker);
}

/** A task that runs `argv`. */
export function task(argv: string[], more: Partial<TaskSpec> = {}): TaskSpec {
  return {
    name: "main",
    argv,
    env: {},
    meta: {},
    resources: { vcpus: 1, memoryBytes: 268_435_456, diskBytes: 0, gpus: 0 },
    killTimeoutMs: 5_000,
    killSignal: "SIGTERM",
    ...more,
  };
}

/** The order to run `argv`. */
export function run(
  id: string,
  argv: string[],
  more: Partial<TaskSpec> = {},
  timeoutMs?: number,
): Extract<AttemptOrder, { want: "run" }> {
  return { id, want: "run", task: task(argv, more), ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}

/** The order to stop it. */
export function stop(id: string, more: Partial<Extract<AttemptOrder, { want: "stop" }>> = {}): AttemptOrder {
  return { id, want: "stop", signal: "SIGTERM", timeoutMs: 5_000, reason: "the test", ...more };
}
