import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { LoopbackCloud } from "../../../local/loopback/cloud.ts";
import { environmentOf, listProcs, type Proc, sendSignal } from "../../../posix/proc.ts";
import { until } from "../../local/support/scratch.ts";
import { leftOf } from "../../local/support/up-process.ts";
import { noViolations } from "../../support/violations.ts";
import { documentCheck } from "./document.ts";
import type { Json } from "./edge.ts";

const ROOT = join(import.meta.dirname, "../../..");
export const COMMAND = join(ROOT, "bin/drover.mjs");

/** The same on every machine: tests fill machines, end them, and expect others to take their place. */
const SIZE = ["--machines", String(Math.max(2, availableParallelism())), "--vcpus", "4"];

/** A new directory inside the checkout. Its path has no links in it: processes are found by the path. */
export function makeHome(name: string): string {
  const cache = join(ROOT, ".cache");
  mkdirSync(cache, { recursive: true });
  return realpathSync(mkdtempSync(join(cache, `${name}-`)));
}

/** How a command ended, and its output. */
export interface Ended {
  code: number | string | null;
  stdout: Buffer;
  stderr: string;
}

/** Runs the built command in a directory, as a person would. `env` is all that it has besides the PATH. */
export async function drover(cwd: string, args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (bytes) => out.push(bytes));
  child.stderr.on("data", (bytes) => err.push(bytes));
  const code = await endOf(child);
  return { code, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString() };
}

/** `drover up` of the built package, in its own process group, with its state in `.drover` of a home. */
export interface RunningDrover {
  /** The pid of its Node process, which is also the id of its process group. */
  pid: number;
  stateDir: string;
  url: string;
  token: string;
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string | null>;
  /** What it has printed so far, on both streams. */
  said(): string;
  /** Sends with the token, and JSON if there is a body. */
  call(method: string, path: string, body?: unknown, more?: Record<string, string>): Promise<Response>;
  /** The same, for the JSON of an answer that must have this status. */
  json(status: number, method: string, path: string, body?: unknown): Promise<Json>;
  /** Sends Ctrl-C, and returns the exit code that it leads to. */
  stop(): Promise<number | string | null>;
}

/**
 * Starts it, and waits for nothing. `env` is what the person's shell has besides; `below` is a command that
 * executes its arguments in surroundings of its own. `flags` are more of the command's.
 */
export function launchDrover(
  home: string,
  env: Record<string, string> = {},
  below: string[] = [],
  flags: string[] = [],
): Pick<RunningDrover, "pid" | "ended" | "said"> {
  const [file = "", ...args] = [...below, process.execPath, COMMAND, "up", ...SIZE, ...flags];
  const child = spawn(file, args, {
    cwd: home,
    env: { ...process.env, DROVER_STATE: undefined, ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
  }
  const { pid } = child;
  if (pid === undefined) throw new Error("`drover up` could not be started.");
  return { pid, ended: endOf(child), said: () => said };
}

/** Starts it and waits until it is up. */
export async function startDrover(
  home: string,
  env: Record<string, string> = {},
  below: string[] = [],
  flags: string[] = [],
): Promise<RunningDrover> {
  const { pid, ended, said } = launchDrover(home, env, below, flags);
  const failed = ended.then((code) => {
    throw new Error(`\`drover up\` ended with ${code}: ${said()}`);
  });
  await Promise.race([until("`drover up` is up", () => said().includes("is up at") || undefined), failed]);
  failed.catch(() => undefined);
  const stateDir = join(home, ".drover");
  const { url, token } = JSON.parse(readFileSync(join(stateDir, "context.json"), "utf8"));
  const check = await documentCheck(url);
  const call: RunningDrover["call"] = async (method, path, body, more) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", ...more };
    const answer = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await check.check(method, path, answer);
    return answer;
  };
  return {
    pid,
    stateDir,
    url,
    token,
    ended,
    said,
    call,
    async json(status, method, path, body) {
      const answer = await call(method, path, body);
      const text = await answer.text();
      if (answer.status !== status) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
      return JSON.parse(text);
    },
    stop() {
      process.kill(-pid, "SIGINT");
      return ended;
    },
  };
}

/**
 * The living processes of a run, wherever they have gone: each has the run's id in its environment. Another
 * Drover of this machine may have a run of this id, too.
 */
export function livingOf({ stateDir }: Pick<RunningDrover, "stateDir">, id: string): Proc[] {
  const isTheirs = (entries: string[]) =>
    entries.includes(`DROVER_RUN_ID=${id}`) &&
    entries.some((entry) => entry.startsWith(`DROVER_TASK_DIR=${stateDir}/`));
  return listProcs().filter(({ pid, ended }) => !ended && isTheirs(environmentOf(pid)));
}

/** Ends whatever a test has left of a Drover that was started in this home. */
export async function endDrover(home: string, running: RunningDrover | undefined): Promise<void> {
  const stateDir = join(home, ".drover");
  for (const pid of [...(running === undefined ? [] : [-running.pid]), ...leftOf(stateDir)]) killIfThere(pid);
  await running?.ended;
  // As the next `drover up` would: the cgroups of a killed one's machines lie outside the checkout.
  if (existsSync(stateDir)) await new LoopbackCloud({ dir: stateDir, onProblem: () => {} }).endAll();
  noViolations(stateDir);
}

/** SIGKILL to a process, or to a group by its negative number; it may have ended already. */
export function killIfThere(pid: number): void {
  // That of a process which was never started: 0 would be the tests themselves.
  if (pid !== 0) sendSignal(pid, "SIGKILL");
}

/** The configuration of the pool `default`, with its provider's secret, which is never shown. */
export async function poolConfigOf(running: Pick<RunningDrover, "json" | "stateDir">): Promise<Json> {
  const { config } = await running.json(200, "GET", "/v1/pools/default");
  const { providerSecret } = JSON.parse(readFileSync(join(running.stateDir, "up.json"), "utf8"));
  return { ...config, provider: { ...config.provider, secret: providerSecret } };
}

function endOf(child: ChildProcess): Promise<number | string | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
}
