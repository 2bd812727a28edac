// How does the command of a check run beside the main process, and how does all of it end
// (health.md#command-of-a-check)?
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { killTree } from "../../../posix/kill.ts";
import { openFilesLimit } from "../../../posix/open-files.ts";
import { type Proc, readProc } from "../../../posix/proc.ts";
import type { Millis } from "../../../src/shared/machine.ts";
import { formatSize } from "../../../src/shared/size.ts";
import { errorText } from "../../../src/shared/words.ts";
import type { CheckLevel, CheckResult } from "../../core/checks/results.ts";
import { exportsOf, wordsInPlace } from "../processes/in-place.ts";
import type { Inside } from "../processes/inside.ts";
import script from "./check.sh";
import { critical, late, PASSING } from "./outcome.ts";

/** A command that has written more is ended: nobody reads that much, and it would keep the agent busy. */
export const MAX_COMMAND_OUTPUT_BYTES = 1024 * 1024;
/**
 * How much of its end is kept until secrets are masked. The longest secret has half of it, so that no part of
 * one is at the beginning of what is shown.
 */
const KEPT_BYTES = 128 * 1024;
/** How long output may still come after the end of the command, and how long a kill may take. */
const REST_MS: Millis = 200;
const KILL_MS: Millis = 5_000;

/** Marks the processes of one check. */
const MARK = "DROVER_CHECK";
const DEFAULT_UMASK = "022";

/** The script without its comments. */
const SCRIPT = script.replace(/^#.*\n/gm, "");

/** A try of a command. */
export interface CommandTry {
  /** Names the check on this machine: no other try with this mark is made at the same time. */
  mark: string;
  argv: string[];
  timeoutMs: Millis;
  signal: AbortSignal;
  now: () => number;
}

/** A command that was started. */
export interface Started {
  /** Settles after the end of the command, when nothing of it is left. Never rejects. */
  result: Promise<CheckResult>;
}

/** Ends what an earlier start of the agent has left of a check (health.md#survives). */
export async function endLeftovers(mark: string, now: () => number): Promise<void> {
  await killTree({ isMarked: isMarkedFor(mark) }, undefined, KILL_MS, now);
}

/** Starts the command of a check. Rejects with the system's error, and then nothing runs. */
export async function startCommand(made: CommandTry, inside: Inside): Promise<Started> {
  const { mark, argv } = made;
  const { entrances, umask = DEFAULT_UMASK, env, base } = inside;
  const words = [
    umask,
    String(openFilesLimit()),
    ...entrances,
    "--",
    ...wordsInPlace(inside, argv, `${MARK}=${mark}`),
  ];
  const child = spawn("/bin/sh", ["-c", SCRIPT, "drover", ...words], {
    cwd: "/",
    env: { ...base, [MARK]: mark },
    detached: true,
    stdio: "pipe",
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  child.stdin?.on("error", () => {});
  child.stdin?.end(exportsOf(env, MARK));
  return { result: resultOf(made, child) };
}

/** Why a try has ended before its command. */
type Cut = "late" | "flood" | "abort";

async function resultOf(made: CommandTry, child: ChildProcess): Promise<CheckResult> {
  const shim = readProc(child.pid ?? 0);
  const output = new Tail(KEPT_BYTES);
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const drained = new Promise((resolve) => child.stdout?.once("end", resolve));
  let status = "";
  const end = await new Promise<Cut | number>((resolve) => {
    const timer = setTimeout(() => resolve("late"), made.timeoutMs);
    const done = (how: Cut | number) => {
      clearTimeout(timer);
      resolve(how);
    };
    made.signal.addEventListener("abort", () => done("abort"), { once: true });
    if (made.signal.aborted) done("abort");
    child.stdout?.on("data", (bytes: Buffer) => {
      output.add(bytes);
      if (output.total > MAX_COMMAND_OUTPUT_BYTES) done("flood");
    });
    child.stderr?.on("data", (text: Buffer) => {
      status += text;
      if (status.includes("\n")) done(Number(status));
    });
    // Without a status: something has killed the shell.
    void exited.then(() => done(Number.NaN));
  });
  if (typeof end === "number") await Promise.race([drained, sleep(REST_MS)]);
  const left = await endOf(made, shim);
  child.kill("SIGKILL");
  child.stdout?.destroy();
  child.stderr?.destroy();
  const result = judged(made, end, output.text);
  return left === "" ? result : critical(`${result.text}. ${left}`, result.output);
}

/** Ends what is left of the command. Returns what cannot be ended. */
async function endOf({ mark, now }: CommandTry, shim: Proc | undefined): Promise<string> {
  try {
    const query = { isMarked: isMarkedFor(mark), shim };
    const { empty, alive } = await killTree(query, undefined, KILL_MS, now);
    return empty ? "" : `SIGKILL has not ended these processes of it: ${alive.slice(0, 20).join(", ")}`;
  } catch (error) {
    return `It is not known whether processes of it are left: ${errorText(error)}`;
  }
}

function isMarkedFor(mark: string) {
  return (environment: string[]) => environment.includes(`${MARK}=${mark}`);
}

/** What the end of a command means (health.md#command). */
function judged({ timeoutMs }: CommandTry, end: Cut | number, output: string): CheckResult {
  if (end === "late") return { ...late("its command has not ended", timeoutMs), output };
  if (end === "abort") return critical("its try was ended");
  if (end === "flood") {
    const most = formatSize(MAX_COMMAND_OUTPUT_BYTES);
    return critical(
      `its command has written more than ${most} and was ended. Let it write less, or to /dev/null`,
      output,
    );
  }
  if (end === 0) return PASSING;
  const level: CheckLevel = end === 1 ? "warning" : "critical";
  const text = Number.isNaN(end) ? "its command was killed" : `its command ended with exit code ${end}`;
  return { level, text, output };
}

/** The end of a stream. */
class Tail {
  total = 0;
  readonly #most: number;
  #bytes = Buffer.alloc(0);

  constructor(most: number) {
    this.#most = most;
  }

  add(bytes: Buffer): void {
    this.total += bytes.length;
    this.#bytes = Buffer.concat([this.#bytes, bytes]).subarray(-this.#most);
  }

  get text(): string {
    return this.#bytes.toString();
  }
}
