// How is a command started below its shim, and what has the shim written?
import type { ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";
import { constants } from "node:os";
import { readIfThere } from "../../../posix/files.ts";
import { openFilesLimit } from "../../../posix/open-files.ts";
import { type Proc, parseStat } from "../../../posix/proc.ts";
import type { StartError } from "../../../src/schema/host.ts";
import type { TaskEnd } from "../../drivers/driver.ts";
import { noSpace, starved } from "../start-fault.ts";
import type { AttemptDirs } from "./dirs.ts";
import script from "./shim.sh";
import { spawnScript } from "./spawn.ts";

/** Exit status of the shim (`shim.sh`) if the task could not enter its cgroups. */
const NOT_ENTERED = 125;
/** Exit status of a shim that could not write its identity. Its file stays empty. */
const UNNAMED = 123;
/** The shim's message if the system does not let it start a process for the task. */
const UNFORKED = "unforked";

/** Even a shell that reports the signals of its children is silent about SIGINT and SIGPIPE. */
const SILENT_STATUSES = new Set([130, 141]);

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** The content of the shim's file: its identity, its messages, and the status once the task has ended. */
interface ShimFile {
  /** Undefined: the shim never wrote its identity, and so has not started its task. */
  shim: Proc | undefined;
  output: string;
  status: number | undefined;
}

/** The files of an attempt that the shim writes, or hands to its command. */
export type ShimFiles = Pick<AttemptDirs, "stdout" | "stderr" | "exit">;

interface ChildSettings {
  stdin?: string | undefined;
  umask?: string | undefined;
}
const DEFAULT_UMASK = "022";

/** The script without its comments: each shim gets it as an argument, and reads it. */
const SCRIPT = script.replace(/^#.*\n/gm, "");

/**
 * Starts the shim, and below it the command in the cgroups whose `cgroup.procs` files are `entrances`.
 * Rejects with the system's error (E2BIG …), and then nothing runs.
 */
export function spawnShim(
  argv: string[],
  entrances: string[],
  cwd: string,
  env: Record<string, string>,
  { stdin = "/dev/null", umask = DEFAULT_UMASK, ...outputs }: ShimFiles & ChildSettings,
): Promise<ChildProcess> {
  const words = [outputs.exit, umask, String(openFilesLimit()), ...entrances, "--", ...argv];
  const files: [string, ...string[]] = [stdin, outputs.stdout, outputs.exit, outputs.stderr];
  return new Promise((resolve, reject) => {
    const child = spawnScript(SCRIPT, ["drover", ...words], env, files, cwd);
    child.once("spawn", () => resolve(child));
    child.once("error", reject);
  });
}

/** Reads what the shim has written so far. */
export function readShimFile({ exit }: Pick<ShimFiles, "exit">): ShimFile {
  const [, first = "", rest = ""] = /^(.*?)\n(.*)$/s.exec(readIfThere(exit) ?? "") ?? [];
  const [, output = "", status] = /^(.*?)(\d+)\n$/s.exec(rest) ?? [];
  return { shim: parseStat(first), output, status: status === undefined ? undefined : Number(status) };
}

/**
 * Reads how the command ended. Only the shell's message ("Killed") distinguishes SIGKILL from `exit 137`. So
 * a status above 128 is a signal if there is a message, if shells are silent about that signal, or if this
 * machine's shell never writes such messages (`shellReportsSignals`).
 *
 * `code`: the exit status of the shim itself, if this agent saw it. This code is used if the file has no
 * status because the disk was full or the task has deleted the file.
 */
export function readShimEnd(files: ShimFiles, shellReportsSignals: boolean, code: number | null): TaskEnd {
  const { output, status = code ?? undefined } = readShimFile(files);
  if (status === undefined) return { lost: true };
  if (status === UNNAMED && readIfThere(files.exit) === "") return { startError: noSpace() };
  if (output.includes(`${UNFORKED}\n`)) return { startError: starved() };
  if (output.includes("unstarted\n")) return { startError: unstarted(status) };
  const signal = SIGNAL_NAMES.get(status - 128);
  const bySignal =
    signal !== undefined && (output !== "" || !shellReportsSignals || SILENT_STATUSES.has(status));
  const exit = { oomKilled: false, message: "" };
  return { exit: bySignal ? { ...exit, code: null, signal } : { ...exit, code: status, signal: null } };
}

/** The error for a command that the system refused to execute, such as a script without its interpreter. */
function unstarted(status: number): StartError {
  if (status === NOT_ENTERED) {
    return { code: "start_failed", text: "The command could not be put into its cgroup on this machine." };
  }
  return status === 127
    ? {
        code: "command_not_found",
        text: "The command, or the interpreter in its first line, is missing.",
      }
    : { code: "not_executable", text: "The system refuses to execute the command: see its stderr." };
}

/**
 * Whether this machine's `sh` prints the signal that has ended a child: dash does, bash as `sh` does not.
 * Kills a child to find out; `scratch` is the file for the message.
 */
export async function checkShellReportsSignals(scratch: string): Promise<boolean> {
  rmSync(scratch, { force: true });
  const files = { stdout: scratch, stderr: scratch, exit: scratch };
  const child = await spawnShim(["/bin/sh", "-c", "kill -9 $$"], [], "/", {}, files);
  await new Promise((resolve) => child.once("exit", resolve));
  return readShimFile(files).output !== "";
}
