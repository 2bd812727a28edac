// How does the benchmark start its own Drover?
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RunStatus } from "../src/schema/run/run.ts";

/** A file system in memory, so that the disk of the machine is not measured. */
const MEMORY = "/dev/shm";
/** The built command. */
export const COMMAND = join(import.meta.dirname, "../bin/drover.mjs");
const UP_WITHIN_MS = 60_000;
const END_WITHIN_MS = 60_000;
const WARM_RUNS = 5;

/** A `drover up` of the built package. */
export interface Drover {
  /** The folder with the state directory in it. */
  dir: string;
  pid: number;
  url: string;
  token: string;
  /**
   * Sends a request with the token, and resolves with the JSON of the answer. Rejects for an error status.
   */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  stop(): Promise<void>;
}

/** How a Drover of the benchmark differs from others. */
export interface StartOptions {
  /** The folder in which the state directory is made. Default: in memory, so that no disk is measured. */
  below?: string;
  /** Variables of its environment, beside those of this process. */
  env?: Record<string, string>;
}

/** The folder for state in memory, or for temporary files where the machine has no such file system. */
export const IN_MEMORY = existsSync(MEMORY) ? MEMORY : tmpdir();

/** Starts Drover with its own state directory, and resolves when it is up. */
export async function startDrover({ below = IN_MEMORY, env = {} }: StartOptions = {}): Promise<Drover> {
  const dir = mkdtempSync(join(below, "drover-bench-"));
  const state = join(dir, "state");
  const child = spawn(
    process.execPath,
    [COMMAND, "up", "--vcpus", "4", "--machines", "2", "--state", state],
    { stdio: "ignore", env: { ...process.env, ...env } },
  );
  const { url, token } = await contextOf(state, child);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return {
    dir,
    pid: child.pid ?? 0,
    url,
    token,
    async call<T>(method: string, path: string, body?: unknown): Promise<T> {
      const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      const answer = await fetch(url + path, request);
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
      // The caller knows the type of the answer to its request. An empty answer has none.
      return (text === "" ? undefined : JSON.parse(text)) as T;
    },
    async stop() {
      const ended = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGINT");
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function contextOf(state: string, child: ChildProcess): Promise<{ url: string; token: string }> {
  const file = join(state, "context.json");
  for (const late = performance.now() + UP_WITHIN_MS; !existsSync(file); await sleep(20)) {
    const over = child.exitCode !== null || performance.now() > late;
    if (over) throw new Error("`drover up` did not start: has it been built (`npm run build`)?");
  }
  return JSON.parse(readFileSync(file, "utf8"));
}

/** Runs a few commands: the first waits for a machine to boot, the next compile what all others need. */
export async function warmUp(drover: Drover): Promise<void> {
  for (let n = 0; n < WARM_RUNS; n += 1) {
    const { id } = await drover.call<{ id: string }>("POST", "/v1/runs", { argv: ["true"] });
    await endOf(drover, id);
  }
}

/** Waits by long polling until a run has ended. Resolves with its status; rejects if it has not succeeded. */
export async function endOf({ call }: Drover, id: string): Promise<RunStatus> {
  for (const late = performance.now() + END_WITHIN_MS; performance.now() < late; ) {
    const status = await call<RunStatus>("GET", `/v1/runs/${id}?wait=20s&state=done`);
    if (status.finishedAt === null) continue;
    if (status.state === "complete" && status.exitCode === 0) return status;
    throw new Error(`${id} ended ${status.state}: ${JSON.stringify(status.failure)}`);
  }
  throw new Error(`${id} has not ended in ${END_WITHIN_MS / 1_000} s.`);
}
