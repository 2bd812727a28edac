// What does a program print that may hang, flood, fail or never end (devices.md#plug-in)?
import { type ChildProcess, spawn } from "node:child_process";
import { sendSignal } from "../../posix/proc.ts";
import { formatDuration } from "../../src/shared/duration.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { formatSize } from "../../src/shared/size.ts";
import { errorText } from "../../src/shared/words.ts";

/** How long a look may take. A driver that loads for the first time takes some seconds. */
export const LOOK_WITHIN_MS: Millis = 10_000;
/** The most that a program may print: `MAX_DEVICES` devices with all that they may have. */
export const MAX_PRINTED_BYTES = 1024 * 1024;
/** What is kept of its errors, in characters: their end. */
const ERROR_CHARS = 400;
/** How long its output may still arrive after it has ended: a child of it may hold the pipe open. */
const LAST_OUTPUT_MS: Millis = 500;

/** A program to run, with the whole of its environment. */
export interface Program {
  file: string;
  args: string[];
  env: Record<string, string>;
}

/** What it has printed, or why that is not known. */
export type Asked = { text: string } | { fault: string };

/**
 * Runs a program again and again, one at a time. A program that does not even end when it is killed, because
 * its driver hangs, is not started a second time.
 */
export class ProgramRunner {
  #stuck: ChildProcess | undefined;
  readonly #withinMs: Millis;

  /** `withinMs`: how long each run may take. */
  constructor(withinMs = LOOK_WITHIN_MS) {
    this.#withinMs = withinMs;
  }

  async run(program: Program): Promise<Asked> {
    if (this.#stuck !== undefined) {
      return { fault: `an earlier call (pid ${this.#stuck.pid}) hangs, and cannot be killed` };
    }
    const child = start(program);
    const asked = await outcomeOf(child, this.#withinMs);
    if (child.pid !== undefined) sendSignal(-child.pid, "SIGKILL");
    if (child.pid !== undefined && !hasEnded(child)) {
      this.#stuck = child;
      child.once("exit", () => {
        this.#stuck = undefined;
      });
    }
    return asked;
  }
}

function start({ file, args, env }: Program): ChildProcess {
  return spawn(file, args, { cwd: "/", env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function outcomeOf(child: ChildProcess, withinMs: Millis): Promise<Asked> {
  const printed: Buffer[] = [];
  let bytes = 0;
  let errors = "";
  return new Promise((resolve) => {
    const timers: NodeJS.Timeout[] = [];
    const settle = (asked: Asked) => {
      for (const timer of timers) clearTimeout(timer);
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve(asked);
    };
    const late = `it has not ended within ${formatDuration(withinMs)}`;
    timers.push(setTimeout(() => settle({ fault: late }), withinMs));
    child.once("error", (error) => settle({ fault: `it cannot be run: ${errorText(error)}` }));
    child.stdout?.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      printed.push(chunk);
      if (bytes > MAX_PRINTED_BYTES) {
        settle({ fault: `it has printed more than ${formatSize(MAX_PRINTED_BYTES)}` });
      }
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      errors = (errors + chunk.toString("utf8")).slice(-ERROR_CHARS);
    });
    const end = () => {
      const text = Buffer.concat(printed).toString("utf8");
      settle(child.exitCode === 0 ? { text } : { fault: failure(child, errors, text) });
    };
    child.once("close", end);
    child.once("exit", () => timers.push(setTimeout(end, LAST_OUTPUT_MS)));
  });
}

function failure({ exitCode, signalCode }: ChildProcess, errors: string, text: string): string {
  const how = signalCode === null ? `exit code ${exitCode}` : signalCode;
  const said = (errors.trim() === "" ? text : errors).trim().slice(-ERROR_CHARS);
  return said === "" ? `it has failed (${how})` : `it has failed (${how}): ${said}`;
}
