import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { ControlPlane, TOKEN } from "./control-plane.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** How a command ended, and its output. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: Buffer;
  stderr: string;
}

/** A running command. */
export interface Running {
  child: ChildProcess;
  /** Resolves when stderr (or stdout) matches; rejects if the command ends before that. */
  says(pattern: RegExp, stream?: "stdout" | "stderr"): Promise<void>;
  ended: Promise<Ended>;
}

/** The built command, an empty directory to call it in, and a control plane to call. */
export interface Bench {
  dir: string;
  plane: ControlPlane;
  /** `flags`: options of Node itself. */
  start(args: string[], options?: SpawnOptions, flags?: string[]): Running;
  run(args: string[], options?: SpawnOptions, flags?: string[]): Promise<Ended>;
  close(): Promise<void>;
}

/**
 * The environment of a command that is pointed to a control plane, and knows nothing else of this machine.
 */
export function environmentFor(plane: ControlPlane): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, DROVER_URL: plane.url, DROVER_TOKEN: TOKEN };
}

/** Opens a bench for one test. */
export async function openBench(): Promise<Bench> {
  mkdirSync(join(ROOT, ".cache"), { recursive: true });
  const dir = mkdtempSync(join(ROOT, ".cache", "cli-"));
  const command = join(inject("built"), "cli.mjs");
  const plane = await new ControlPlane().start();
  const children = new Set<ChildProcess>();
  const start = (args: string[], options: SpawnOptions = {}, flags: string[] = []): Running => {
    const child = spawn(process.execPath, [...flags, command, ...args], {
      cwd: dir,
      env: environmentFor(plane),
      stdio: ["ignore", "pipe", "pipe"],
      ...options,
    });
    children.add(child);
    child.once("exit", () => children.delete(child));
    return watch(child);
  };
  return {
    dir,
    plane,
    start,
    run: (args, options, flags) => start(args, options, flags).ended,
    close: async () => {
      for (const child of children) child.kill("SIGKILL");
      await plane.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function watch(child: ChildProcess): Running {
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.on("data", (bytes: Buffer) => {
      output[stream].push(bytes);
      child.emit("output");
    });
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      const stderr = Buffer.concat(output.stderr).toString("utf8");
      resolve({ code, signal, stdout: Buffer.concat(output.stdout), stderr });
    });
  });
  const says = (pattern: RegExp, stream: "stdout" | "stderr" = "stderr") =>
    new Promise<void>((resolve, reject) => {
      const text = () => Buffer.concat(output[stream]).toString("utf8");
      const look = () => {
        if (!pattern.test(text())) return;
        child.off("output", look);
        resolve();
      };
      child.on("output", look);
      child.once("close", () => reject(new Error(`it ended without ${pattern}; it said: ${text()}`)));
      look();
    });
  return { child, says, ended };
}
