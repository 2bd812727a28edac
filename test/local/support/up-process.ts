import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { LoopbackCloud } from "../../../local/loopback/cloud.ts";
import { environmentOf, listProcs, sendSignal } from "../../../posix/proc.ts";
import { creation } from "./cloud.ts";
import { pidOf, until } from "./scratch.ts";

/** A `drover up` in a process group of its own, as a terminal would have it. */
export interface UpProcess {
  pid: number;
  /** What it has printed so far, on both streams. */
  said(): string;
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string | null>;
  /** Sends SIGINT to the whole group, as Ctrl-C does. */
  interrupt(): void;
}

/** Starts `drover up` with the tiny Worker. Whatever is left of it when the test is over is killed. */
export function startUp(stateDir: string, ...flags: string[]): UpProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, "run-up.ts"), stateDir, ...flags], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const pid = pidOf(child);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
  }
  const ended = new Promise<number | string | null>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-pid, "SIGKILL");
    await ended;
    for (const left of leftOf(stateDir)) sendSignal(left, "SIGKILL");
    // As the next `drover up` would: the cgroups of machines that a killed one left lie outside the checkout.
    if (existsSync(stateDir)) await new LoopbackCloud({ dir: stateDir, onProblem: () => {} }).endAll();
  });
  return { pid, said: () => said, ended, interrupt: () => process.kill(-pid, "SIGINT") };
}

export interface Context {
  url: string;
  token: string;
}

/** Waits until `drover up` has printed its address, and returns what commands would find. */
export async function whenUp(running: UpProcess, stateDir: string): Promise<Context> {
  const path = join(stateDir, "context.json");
  const failed = running.ended.then((code) => {
    throw new Error(`drover up ended with ${code}: ${running.said()}`);
  });
  const found = until("drover up is up", () => (running.said().includes("is up at") ? true : undefined));
  await Promise.race([found, failed]);
  expect(existsSync(path)).toBe(true);
  return JSON.parse(readFileSync(path, "utf8"));
}

/** Asks the tiny Worker. */
export async function ask({ url, token }: Context, method: string, path: string): Promise<unknown> {
  const response = await fetch(url + path, { method, headers: { authorization: `Bearer ${token}` } });
  return response.json();
}

/** Processes of the runtime and of machines of a state directory that still run. */
export function leftOf(stateDir: string): number[] {
  const marks = [`DROVER_RUNTIME=${stateDir}`, `DROVER_INSTANCE=${join(stateDir, "instances")}/`];
  return listProcs()
    .filter(
      ({ pid, ended }) =>
        !ended && environmentOf(pid).some((entry) => marks.some((m) => entry.startsWith(m))),
    )
    .map(({ pid }) => pid);
}

/** Asks the cloud for a machine as the control plane would. Returns the status of the answer. */
export async function askForMachine(stateDir: string, token: string): Promise<number> {
  const { cloudPort, providerSecret } = JSON.parse(readFileSync(join(stateDir, "up.json"), "utf8"));
  const response = await fetch(`http://127.0.0.1:${cloudPort}/instances`, {
    method: "POST",
    headers: { authorization: `Bearer ${providerSecret}` },
    body: JSON.stringify(creation(token, "setsid sleep 1000 & sleep 1000\n")),
  });
  return response.status;
}

/** The same, and checks that the machine is created. */
export async function bootMachine(stateDir: string, token: string): Promise<void> {
  expect(await askForMachine(stateDir, token)).toBe(200);
}
