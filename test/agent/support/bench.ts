import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  copyFileSync,
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
import { inject } from "vitest";
import { closedParent } from "../../../agent/exec/files/reach.ts";
import { removeGroup } from "../../../posix/cgroup.ts";
import { childrenOf, sendSignal } from "../../../posix/proc.ts";
import type { AttemptOrder } from "../../../src/schema/host.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import { CODE, FakePlane } from "./fake-plane.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The exit code of an agent whose state directory another process uses. */
const LOCKED = 4;

/** A running agent. */
export interface RunningAgent {
  child: ChildProcess;
  stderr: () => string;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** Kills an agent with SIGKILL, and waits for its end. */
export async function kill({ child, ended }: RunningAgent): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

/** A directory, a control plane, and agents on them. */
export interface Bench {
  dir: string;
  stateDir: string;
  plane: FakePlane;
  /** Starts an agent; it may be the second one on the same state. */
  start(env?: Record<string, string>, more?: string[]): RunningAgent;
  /** Starts an agent, and again if the lock is taken: by the watchdog, once the lease is about to end. */
  startUnlocked(): Promise<RunningAgent>;
  /** Calls the agent with only these arguments. */
  startWith(args: string[]): RunningAgent;
  /** Pids of all living processes of this bench except agents, idle shims and the lease's watchdog. */
  processes(): number[];
  /** The pid of the watchdog, if one lives. */
  watchdog(): number | undefined;
  close(): Promise<void>;
}

/**
 * Where benches lie: in the checkout. If the checkout is below a directory that others may not enter, such as
 * `/root`, the tests of root need another place, because they run commands as other users.
 */
function placeOfBenches(): string {
  const cache = join(ROOT, ".cache");
  mkdirSync(cache, { recursive: true });
  const isClosed = process.geteuid?.() === 0 && closedParent(cache) !== undefined;
  return isClosed ? "/tmp" : cache;
}

/** A directory with the agent, and a control plane for it. */
export async function openBench(): Promise<Bench> {
  const dir = mkdtempSync(join(placeOfBenches(), "agent-"));
  const file = join(dir, "drover-agent.mjs");
  copyFileSync(join(inject("built"), "drover-agent.mjs"), file);
  writeFileSync(join(dir, "code"), `${CODE}\n`);
  const plane = await new FakePlane().start();
  const stateDir = join(dir, "state");
  const marker = `DROVER_INSTANCE=${dir}`;
  const agents: RunningAgent[] = [];
  const startWith = (args: string[], env: Record<string, string> = {}): RunningAgent => {
    const agent = startAgent([file, ...args], {
      DROVER_INSTANCE: dir,
      DROVER_BOOT_ID: "boot-1",
      DROVER_CHECK_EVERY: "1",
      ...env,
    });
    agents.push(agent);
    return agent;
  };
  const startUnlocked = async (): Promise<RunningAgent> => {
    const { greeted } = plane;
    const agent = startWith(usual);
    const isLocked = agent.ended.then(({ code }) => code === LOCKED);
    const greets = plane.until("it says hello", () => plane.greeted > greeted).then(() => false);
    return (await Promise.race([isLocked, greets])) ? startUnlocked() : agent;
  };
  const usual = ["--url", plane.url, "--state", stateDir, "--code-file", join(dir, "code")];
  return {
    dir,
    stateDir,
    plane,
    start: (env, more = []) => startWith([...usual, ...more], env),
    startUnlocked,
    startWith,
    // The second check of the mark leaves out a `sleep` of the watchdog that ended during the first.
    processes: () =>
      marked(marker, agents).filter(
        (pid) => !isWatchdog(pid) && !isForkOf(agents, pid) && !isIdleShim(pid) && isMarked(pid, marker),
      ),
    watchdog: () => marked(marker, agents).find((pid) => isWatchdog(pid) && !isSleep(pid)),
    async close() {
      await plane.close();
      for (const { child } of agents) child.kill("SIGKILL");
      await Promise.all(agents.map(({ ended }) => ended));
      const broken = agents.map(({ stderr }) => stderr()).find((log) => log.includes("invariant_violated"));
      for (const pid of marked(marker, agents)) sendSignal(pid, "SIGKILL");
      const groups = join(stateDir, "groups");
      for (const name of existsSync(groups) ? readdirSync(groups) : []) {
        const group = JSON.parse(readFileSync(join(groups, name), "utf8"));
        await until(() => removeGroup(group));
      }
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
      if (broken !== undefined) throw new Error(`an invariant was broken: ${broken}`);
    },
  };
}

/** Waits: the kernel releases a cgroup only a moment after its last process has ended. */
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

/** The Node 20 that a host has, if this machine has it; else the Node that runs the tests. */
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

/** Whether a process is the shell that guards the lease, or the `sleep` that it runs. */
function isWatchdog(pid: number): boolean {
  return [pid, parentOf(pid)].some((one) => argumentsOf(one).includes("drover-watchdog"));
}

/** Whether a process is a fork of an agent: what an agent starts is its copy until the exec. */
function isForkOf(agents: RunningAgent[], pid: number): boolean {
  const parent = agents.find(({ child }) => child.pid === parentOf(pid))?.child.pid;
  return parent !== undefined && argumentsOf(parent).join(" ") === argumentsOf(pid).join(" ");
}

/** A shim that waits for a command. It ends with its agent, or in a moment. */
export function isIdleShim(pid: number): boolean {
  return argumentsOf(pid).join(" ") === "/bin/sh " && childrenOf(pid).length === 0;
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

/** The order to stop an attempt. */
export function stop(id: string, more: Partial<Extract<AttemptOrder, { want: "stop" }>> = {}): AttemptOrder {
  return { id, want: "stop", signal: "SIGTERM", timeoutMs: 5_000, reason: "the test", ...more };
}
