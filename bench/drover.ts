// How the benchmark starts a local Drover of its own, on a disk in memory.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RunStatus } from "../src/schema/run/run.ts";

/** Linux keeps this in memory: what is measured is Drover, and not somebody's disk. */
const MEMORY = "/dev/shm";
const COMMAND = join(import.meta.dirname, "../bin/drover.mjs");
const UP_WITHIN_MS = 60_000;
const END_WITHIN_MS = 60_000;

/** A `drover up` of the built package, to be measured. */
export interface Drover {
  /** Where its state is kept. */
  dir: string;
  pid: number;
  url: string;
  /** Sends with the token; the JSON of an answer that is none of an error. */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  stop(): Promise<void>;
}

/** Starts it on a state directory of its own, and resolves when it is up. */
export async function startDrover(): Promise<Drover> {
  const dir = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "drover-bench-"));
  const state = join(dir, "state");
  const child = spawn(
    process.execPath,
    [COMMAND, "up", "--vcpus", "4", "--machines", "2", "--state", state],
    { stdio: "ignore" },
  );
  const { url, token } = await contextOf(state, child);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return {
    dir,
    pid: child.pid ?? 0,
    url,
    async call<T>(method: string, path: string, body?: unknown): Promise<T> {
      const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      const answer = await fetch(url + path, request);
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
      // The caller knows what it has asked for; this is a measurement, and no client.
      return JSON.parse(text) as T;
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
    if (over) throw new Error("`drover up` does not come up: is it built (`npm run build`)?");
  }
  return JSON.parse(readFileSync(file, "utf8"));
}

/** The end of a run, asked for by questions that are held. */
export async function endOf({ call }: Drover, id: string): Promise<RunStatus> {
  for (const late = performance.now() + END_WITHIN_MS; performance.now() < late; ) {
    const status = await call<RunStatus>("GET", `/v1/runs/${id}?wait=20s&state=done`);
    if (status.finishedAt === null) continue;
    if (status.state === "complete" && status.exitCode === 0) return status;
    throw new Error(`${id} has ended ${status.state}: ${JSON.stringify(status.failure)}`);
  }
  throw new Error(`${id} has not ended in ${END_WITHIN_MS / 1_000} s.`);
}
