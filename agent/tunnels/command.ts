// How does a command of a tunnel start, survive the agent, and end (tunnels.md#survives)?
import { execFile } from "node:child_process";
import { existsSync, type FSWatcher, readlinkSync, watch } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { replaceFile } from "../../disk/atomic.ts";
import { readIfThere } from "../../posix/files.ts";
import { killTree } from "../../posix/kill.ts";
import { childrenOf, environmentOf, lives, type Proc, sendSignal } from "../../posix/proc.ts";
import { findTree } from "../../posix/tree.ts";
import type { Exit, SignalName } from "../../src/schema/run/run.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import type { ExecAsk, TerminalSize } from "../../src/shared/tunnel/frames.ts";
import { exportsOf, wordsInPlace } from "../exec/processes/in-place.ts";
import type { Inside } from "../exec/processes/inside.ts";
import { retractStart } from "../exec/shims/retract.ts";
import { readShimEnd, readShimFile, spawnShim } from "../exec/shims/shim.ts";
import enter from "./enter.sh";
import { FileSource } from "./file-source.ts";
import { Input, type InputFiles, writtenBefore } from "./input.ts";
import { Newest } from "./newest.ts";
import { Soon } from "./soon.ts";

const run = promisify(execFile);

/** How often to look at the files and at an adopted command, beside the events of the file system. */
const LOOK_MS: Millis = 100;
const HOLDER_LOOK_MS: Millis = 5;
/** How long a command may take to react to SIGHUP before it is killed, and how long a kill may take. */
const HANG_UP_MS: Millis = 1_000;
const KILL_MS: Millis = 10_000;
/** A command with more output than this waiting is stopped, and goes on below half of it. */
const MAX_BACKLOG_BYTES = 16 * 1024 * 1024;

/** The name of the file with the count of input. */
const IN_COUNT = "in-count";

/** Marks the processes of one tunnel. */
const MARK = "DROVER_TUNNEL_ID";
const HOLDER = "DROVER_TUNNEL_HOLDER=1";

/** How a command ended. Null: the status is lost. */
export type CommandEnd = { exit: Exit | null } | { startError: string };

export interface CommandOptions {
  id: string;
  /** The directory of the tunnel. */
  dir: string;
  /** See `readShimEnd`. */
  shellReportsSignals: boolean;
  now: () => number;
  /** Called when there is more output, or the command has ended. */
  changed: () => void;
  /** Called for input that the command has room for. */
  used: (bytes: number) => void;
}

/**
 * A command beside the main process of an attempt, in its cgroup. It runs below a shim, reads from a named
 * pipe and writes to files, so it goes on while the agent is dead, and the next start of the agent finds it.
 */
export class TunnelCommand {
  readonly stdout: FileSource;
  readonly stderr: FileSource;
  /** Undefined while it runs. */
  end: CommandEnd | undefined;
  readonly #options: CommandOptions;
  readonly #files: ReturnType<typeof filesIn>;
  #input: Input | undefined;
  #shim: Proc | undefined;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #soon = new Soon(() => this.#look());
  #isStopped = false;
  readonly #size = new Newest<TerminalSize>((size) => this.#applySize(size));

  private constructor(options: CommandOptions) {
    this.#options = options;
    this.#files = filesIn(options.dir);
    this.stdout = new FileSource(this.#files.stdout);
    this.stderr = new FileSource(this.#files.stderr);
  }

  /** Starts the command. Rejects with the system's error, and then nothing runs. */
  static async start(options: CommandOptions, ask: ExecAsk, inside: Inside): Promise<TunnelCommand> {
    const command = new TunnelCommand(options);
    await command.#start(ask, inside);
    return command;
  }

  /**
   * Takes back a start that an earlier agent has not survived. True: the command has not begun and never
   * will, and its directory is gone.
   */
  static retract(dir: string, away: string): boolean {
    const { exit } = filesIn(dir);
    return readShimFile({ exit }).shim === undefined && retractStart(dir, basename(exit), away);
  }

  /** Finds the command of an earlier start of the agent; undefined: it is not known. */
  static adopt(options: CommandOptions): TunnelCommand | undefined {
    const command = new TunnelCommand(options);
    const { shim } = readShimFile(command.#files);
    if (shim === undefined) return undefined;
    command.#shim = shim;
    // A pipe that is opened again would not have ended for a command that has yet to read its end.
    if (existsSync(command.#files.inputEnded)) void command.#finishInput();
    else if (existsSync(command.#files.pipe) && lives(shim)) {
      command.#input = new Input(command.#files, options.used);
    }
    command.#watch();
    return command;
  }

  /** How many bytes of input an earlier start of the agent has written. */
  static inputBefore(dir: string): number {
    return writtenBefore(filesIn(dir).count);
  }

  write(bytes: Uint8Array): void {
    // What is written after the end of the command goes nowhere, as with a pipe.
    if (this.#input === undefined || this.end !== undefined) this.#options.used(bytes.length);
    else this.#input.write(bytes);
  }

  /** The command's input has ended. */
  endInput(): void {
    this.#input?.end(() => void this.#finishInput());
  }

  /** Gives the pipe up. Until its holder exists, the command has not opened it yet. */
  async #finishInput(): Promise<void> {
    replaceFile(this.#files.inputEnded, "");
    const isOpen = () => this.#input === undefined || this.#holders().length > 0;
    while (this.end === undefined && !isOpen()) await sleep(HOLDER_LOOK_MS);
    this.#input?.close();
    for (const pid of this.#holders()) sendSignal(pid, "SIGKILL");
  }

  /** Sets the size of the terminal, if the command has one. The kernel tells its foreground processes. */
  resize(size: TerminalSize): Promise<void> {
    return this.#size.set(size);
  }

  async #applySize({ rows, columns }: TerminalSize): Promise<void> {
    const terminal = this.#processes().map(terminalOf).find(Boolean);
    if (terminal === undefined) return;
    await run("stty", ["-F", terminal, "rows", `${rows}`, "cols", `${columns}`]).catch(() => undefined);
  }

  /** Signals the command's first process, unless signal `n` was sent before. */
  signal(signal: SignalName, n: number): void {
    if (n <= Number(readIfThere(this.#files.signaled) ?? 0)) return;
    replaceFile(this.#files.signaled, String(n));
    const main = this.#shim === undefined ? undefined : childrenOf(this.#shim.pid).at(0);
    if (main !== undefined) sendSignal(main.pid, signal);
  }

  /** Ends all processes of the tunnel, as a terminal does that is closed. */
  async close(): Promise<void> {
    this.#input?.close();
    const alive = this.#processes();
    for (const pid of alive) for (const signal of ["SIGHUP", "SIGCONT"] as const) sendSignal(pid, signal);
    const { now } = this.#options;
    const until = now() + HANG_UP_MS;
    while (this.#processes().length > 0 && now() < until) await sleep(LOOK_MS / 10);
    const kill = () => killTree({ ...this.#query(), shim: this.#shim }, undefined, KILL_MS, now);
    await kill();
    // A shim that lived during the scan may have started the command after it.
    for (const late = now() + KILL_MS; now() < late; ) {
      if (this.#shim === undefined || !lives(this.#shim)) break;
      await sleep(LOOK_MS / 10);
      await kill();
    }
    this.#unwatch();
  }

  async #start(ask: ExecAsk, inside: Inside): Promise<void> {
    const { entrances, umask, env, base } = inside;
    const { id, shellReportsSignals } = this.#options;
    const files = this.#files;
    const terminal = ask.terminal && { TERM: ask.terminal.term, SHELL: "/bin/sh" };
    replaceFile(files.environment, exportsOf({ ...env, ...terminal }, MARK));
    const words = wordsOf(ask, inside, `${MARK}=${id}`);
    const takesInput = ask.input || ask.terminal !== undefined;
    if (takesInput) {
      await run("mkfifo", ["-m", "600", files.pipe]);
      this.#input = new Input(files, this.#options.used);
    }
    const pipe = takesInput ? files.pipe : "";
    const argv = ["/bin/sh", "-c", enter, "sh", pipe, files.environment, ...words];
    const child = await spawnShim({ argv, entrances, dir: "/", env: { ...base, [MARK]: id }, umask, files });
    child.once("exit", (code) => {
      this.#ended(readShimEnd(files, shellReportsSignals, code));
    });
    this.#shim = readShimFile(files).shim;
    this.#watch();
  }

  #watch(): void {
    // Some file systems have no events, and events may be lost: so the files are looked at, too.
    this.#timer = setInterval(() => this.#soon.call(), LOOK_MS);
    try {
      this.#watcher = watch(this.#options.dir, (_event, name) => {
        // A key is counted before the command shows it: that is no reason to look.
        if (name !== IN_COUNT) this.#soon.call();
      });
    } catch {
      // see above
    }
    this.#soon.call();
  }

  #unwatch(): void {
    clearInterval(this.#timer);
    this.#soon.drop();
    this.#watcher?.close();
  }

  #look(): void {
    this.#shim ??= readShimFile(this.#files).shim;
    const hasGrown = [this.stdout.look(), this.stderr.look()].some(Boolean);
    this.#regulate();
    if (hasGrown) this.#options.changed();
    if (this.end === undefined && this.#shim !== undefined && !lives(this.#shim)) {
      this.#ended(readShimEnd(this.#files, this.#options.shellReportsSignals, null));
    }
  }

  #ended(end: ReturnType<typeof readShimEnd>): void {
    if (this.end !== undefined) return;
    this.#unwatch();
    this.#input?.close();
    for (const source of [this.stdout, this.stderr]) {
      source.look();
      source.hasEnded = true;
    }
    if ("startError" in end) this.end = { startError: end.startError.text };
    else this.end = { exit: "exit" in end ? end.exit : null };
    for (const pid of this.#holders()) sendSignal(pid, "SIGKILL");
    this.#options.changed();
  }

  /** Stops a command whose output nobody takes, so that it does not fill the disk. */
  #regulate(): void {
    const backlog = Math.max(this.stdout.backlog, this.stderr.backlog);
    const isFull = backlog > (this.#isStopped ? MAX_BACKLOG_BYTES / 2 : MAX_BACKLOG_BYTES);
    if (isFull === this.#isStopped) return;
    this.#isStopped = isFull;
    for (const pid of this.#processes()) sendSignal(pid, isFull ? "SIGSTOP" : "SIGCONT");
  }

  #query() {
    const mark = `${MARK}=${this.#options.id}`;
    return { isMarked: (environment: string[]) => environment.includes(mark) };
  }

  /** The processes of this tunnel, without the one that holds the pipe open. */
  #processes(): number[] {
    const all = findTree({ ...this.#query(), shim: this.#shim }).map(({ pid }) => pid);
    return all.filter((pid) => !environmentOf(pid).includes(HOLDER));
  }

  #holders(): number[] {
    const query = this.#query();
    const isMarked = (environment: string[]) => query.isMarked(environment) && environment.includes(HOLDER);
    return findTree({ isMarked, isMarkedOnly: true }).map(({ pid }) => pid);
  }
}

type Files = InputFiles &
  Record<"stdout" | "stderr" | "exit" | "inputEnded" | "environment" | "signaled", string>;

function filesIn(dir: string): Files {
  const file = (name: string) => join(dir, name);
  return {
    pipe: file("in"),
    count: file(IN_COUNT),
    inputEnded: file("in-ended"),
    environment: file("env"),
    signaled: file("signaled"),
    stdout: file("out"),
    stderr: file("err"),
    exit: file("exit"),
  };
}

/** The command at its place, in the program that gives it a terminal. `mark`: of the tunnel. */
function wordsOf({ argv, terminal }: ExecAsk, inside: Inside, mark: string): string[] {
  if (terminal === undefined) return wordsInPlace(inside, argv, mark);
  const { rows, columns, term } = terminal;
  const words = inside.contained?.(argv, [mark, `TERM=${term}`], true);
  // `script` switches off the echo of a terminal if its own input is none. In a container the engine echoes.
  const echo = words === undefined ? "echo " : "";
  const inner = `stty ${echo}rows ${rows} cols ${columns}; exec ${quoteArgv(words ?? argv)}`;
  const shown = ["script", "-qefc", inner, "/dev/null"];
  return words === undefined ? wordsInPlace(inside, shown, mark) : shown;
}

/** The terminal of a process of this machine. In a container the same path is another terminal. */
function terminalOf(pid: number): string | undefined {
  try {
    if (readlinkSync(`/proc/${pid}/ns/mnt`) !== readlinkSync("/proc/self/ns/mnt")) return undefined;
    const path = readlinkSync(`/proc/${pid}/fd/0`);
    return path.startsWith("/dev/pts/") ? path : undefined;
  } catch {
    return undefined;
  }
}
