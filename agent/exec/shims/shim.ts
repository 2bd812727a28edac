// How is a command started below its shim, and what has the shim written?
import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { readIfThere } from "../../../posix/files.ts";
import { openFilesLimit } from "../../../posix/open-files.ts";
import { type Proc, parseStat, readProc } from "../../../posix/proc.ts";
import type { StartError } from "../../../src/schema/host.ts";
import type { TaskEnd } from "../../drivers/driver.ts";
import type { AttemptDirs } from "../processes/dirs.ts";
import { retryWhileStarved } from "../processes/retry-while-starved.ts";
import { noSpace, starved } from "../start-fault.ts";
import script from "./shim.sh";
import { spawnScript } from "./spawn.ts";

/** Exit status of the shim (`shim.sh`) if the task could not enter its cgroups. */
const NOT_ENTERED = 125;
/** Exit status of a shim whose command has no directory any more. */
const NO_DIRECTORY = 124;
/** Exit status of a shim whose start was taken back. Its file has none. */
const TAKEN_BACK = 122;
/** Exit status of a shim that could not write its identity. Its file stays empty. */
export const UNNAMED = 123;
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

/** A command as its shim gets it. */
export interface ShimCommand {
  argv: string[];
  /** The `cgroup.procs` files of its cgroups. */
  entrances: string[];
  dir: string;
  env: Record<string, string>;
  /** The file for its standard input; absent: it has none. */
  stdin?: string | undefined;
  umask?: string | undefined;
  files: ShimFiles;
}
const DEFAULT_UMASK = "022";

/** The functions of a shim, without comments: each shim gets them as text, and reads them. */
export const SHIM_FUNCTIONS = withoutComments(script);

/** Starts a shim for this command alone. Rejects with the system's error (E2BIG …), and then nothing runs. */
export function spawnShim(command: ShimCommand): Promise<ChildProcess> {
  const [input, ...outputs] = filesOf(command);
  const text = `${SHIM_FUNCTIONS}__drover_run "$@"; exit "$?"`;
  return new Promise((resolve, reject) => {
    const words = ["drover", ...wordsOf(command)];
    const child = spawnScript(text, words, command.env, [input, ...outputs], command.dir);
    child.once("spawn", () => resolve(child));
    child.once("error", reject);
  });
}

/** The words that a shim runs a command by. */
export function wordsOf({ argv, entrances, umask = DEFAULT_UMASK, files }: ShimCommand): string[] {
  return [files.exit, umask, String(openFilesLimit()), ...entrances, "--", ...argv];
}

/** The files of a command: its input, and the descriptors of its shim from 1 on. */
export function filesOf({ stdin = "/dev/null", files }: ShimCommand): [string, string, string, string] {
  return [stdin, files.stdout, files.exit, files.stderr];
}

/** A script as a shell gets it from the agent. */
export function withoutComments(script: string): string {
  return script.replace(/^#.*\n/gm, "");
}

/** A command below a shim that this agent has started. */
export interface Started {
  shim: Proc | undefined;
  /** The process that becomes the command, where it is known. */
  main?: Proc | undefined;
  /**
   * Settles once the command has ended and its shim will start no process of it any more. With the status, if
   * the shim has told it.
   */
  ended: Promise<number | null>;
  /** To be called once the command needs its shim no more. `isClean`: nothing of the command is left. */
  release?: (isClean: boolean) => void;
}

/** Starts a command below a shim of its own. Rejects with the system's error, and then nothing runs. */
export async function startAlone(command: ShimCommand): Promise<Started> {
  const child = await spawnShim(command);
  const ended = new Promise<number | null>((settle) => child.once("exit", settle));
  return { shim: await retryWhileStarved(() => readProc(child.pid ?? 0)), ended };
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
  const { output, status: written } = readShimFile(files);
  const status = written ?? code ?? undefined;
  if (status === undefined || (written === undefined && status === TAKEN_BACK)) return { lost: true };
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
  if (status === NO_DIRECTORY) {
    return { code: "start_failed", text: "The directory of the command is not there any more." };
  }
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
