import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, rmSync } from "node:fs";
import { constants } from "node:os";
import { errorCode } from "../../../posix/errors.ts";
import { readIfThere } from "../../../posix/files.ts";
import { openFilesLimit } from "../../../posix/open-files.ts";
import { type Proc, parseStat } from "../../../posix/proc.ts";
import type { StartError } from "../../../src/schema/host.ts";
import { errorText } from "../../../src/shared/words.ts";
import type { TaskEnd } from "../../drivers/driver.ts";
import type { AttemptDirs } from "./dirs.ts";
import script from "./shim.sh";

/** What the shim (`shim.sh`) exits with for a task that could not enter its cgroups. */
const NOT_ENTERED = 125;
/** The same, and its file stays empty, if it could not even write who it is. */
const UNNAMED = 123;
/** What it says if the system lets it start no process for its task. */
const UNFORKED = "unforked";

/** Even a shell that says what has ended a child is silent about SIGINT and SIGPIPE. */
const SILENT_STATUSES = new Set([130, 141]);

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** What the shim has written. `shim`: itself. `status`: absent as long as its task runs. */
interface ShimFile {
  shim: Proc | undefined;
  said: string;
  status: number | undefined;
}

/** The files of an attempt that the shim writes, or hands to its command. */
export type ShimFiles = Pick<AttemptDirs, "stdout" | "stderr" | "exit">;

/** What a command has unless its task says otherwise. `umask`: as on most machines. */
interface Given {
  stdin?: string | undefined;
  umask?: string | undefined;
}
const USUAL_UMASK = "022";

/**
 * Starts the shim with the command below it, in the cgroups whose `cgroup.procs` are `entrances`. Throws
 * what the system says, before anything runs (E2BIG …).
 */
export function spawnShim(
  argv: string[],
  entrances: string[],
  cwd: string,
  env: Record<string, string>,
  { stdin = "/dev/null", umask = USUAL_UMASK, ...outputs }: ShimFiles & Given,
): Promise<ChildProcess> {
  const files = [openSync(stdin, "r")];
  try {
    for (const file of [outputs.stdout, outputs.exit, outputs.stderr]) files.push(openSync(file, "a", 0o600));
    const limits = [umask, String(openFilesLimit())];
    const words = [outputs.exit, ...limits, ...entrances, "--", ...argv];
    const child = spawn("/bin/sh", ["-c", script, "drover", ...words], {
      cwd,
      env,
      detached: true,
      stdio: files,
    });
    return new Promise((resolve, reject) => {
      child.once("spawn", () => resolve(child));
      child.once("error", reject);
    });
  } finally {
    for (const file of files) closeSync(file);
  }
}

function readShimFile({ exit }: Pick<ShimFiles, "exit">): ShimFile {
  const [, first = "", rest = ""] = /^(.*?)\n(.*)$/s.exec(readIfThere(exit) ?? "") ?? [];
  const [, said = "", status] = /^(.*?)(\d+)\n$/s.exec(rest) ?? [];
  return { shim: parseStat(first), said, status: status === undefined ? undefined : Number(status) };
}

/** The shim as it named itself; undefined if it never did, and so has not started its task. */
export function readShim(files: Pick<ShimFiles, "exit">): Proc | undefined {
  return readShimFile(files).shim;
}

/**
 * Reads what the shim has left. A shell tells `exit 137` from SIGKILL only by what it says beside the
 * status ("Killed"). So a status above 128 is a signal if the shell has said something, or if it is one of
 * those of which shells are silent, or if this machine's shell never says anything (`shellTellsSignals`).
 *
 * `code`: what the shim itself has exited with, if this agent saw it; null if it was killed. It counts where
 * the file says nothing, because the disk was full or the task has deleted it.
 */
export function readShimEnd(files: ShimFiles, shellTells: boolean, code: number | null): TaskEnd {
  const { said, status = code ?? undefined } = readShimFile(files);
  if (status === undefined) return { lost: true };
  if (status === UNNAMED && readIfThere(files.exit) === "") return { startError: noSpace() };
  if (said.includes(`${UNFORKED}\n`)) return { startError: starved() };
  if (said.includes("unstarted\n")) return { startError: unstarted(status) };
  const signal = SIGNAL_NAMES.get(status - 128);
  const bySignal = signal !== undefined && (said !== "" || !shellTells || SILENT_STATUSES.has(status));
  const exit = { oomKilled: false, message: "" };
  return { exit: bySignal ? { ...exit, code: null, signal } : { ...exit, code: status, signal: null } };
}

/** The disk of the machine was full before the command began. */
export function noSpace(): StartError {
  const text = "No space is left on this machine's disk: the command was not started.";
  return { code: "start_failed", text };
}

/**
 * The machine has no more open files, processes or memory to give: that passes, so whoever restarts tasks may
 * try again.
 */
export function starved(error?: unknown): StartError {
  const code = errorCode(error);
  const what = code === "EMFILE" || code === "ENFILE" ? "open no more files" : "start no more processes";
  const why = error === undefined ? "" : ` (${errorText(error)})`;
  const text = `This machine can ${what} now: the command was not started${why}.`;
  return { code: "start_failed", text: text.slice(0, 1_024), recoverable: true };
}

/**
 * The command was there, and the system would not execute it: a script whose interpreter is missing, for
 * one.
 */
function unstarted(status: number): StartError {
  if (status === NOT_ENTERED) {
    return { code: "start_failed", text: "The command could not be put into its cgroup on this machine." };
  }
  return status === 127
    ? {
        code: "command_not_found",
        text: "The command, or the interpreter that its first line names, is missing.",
      }
    : { code: "not_executable", text: "The system refuses to execute the command: see its stderr." };
}

/**
 * Whether this machine's `sh` says what signal has ended a child: dash does, bash as `sh` does not. Found
 * out by ending one; `scratch` is a file for it to say so.
 */
export async function shellTellsSignals(scratch: string): Promise<boolean> {
  rmSync(scratch, { force: true });
  const files = { stdout: scratch, stderr: scratch, exit: scratch };
  const child = await spawnShim(["/bin/sh", "-c", "kill -9 $$"], [], "/", {}, files);
  await new Promise((resolve) => child.once("exit", resolve));
  return readShimFile(files).said !== "";
}
