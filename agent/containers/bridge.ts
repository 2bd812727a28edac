// How does a command run beside the first process of a container (containers.md#inside)?
import { constants } from "node:os";
import type { ReadStream, WriteStream } from "node:tty";
import { environmentOf, sendSignal } from "../../posix/proc.ts";
import type { TerminalSize } from "../../src/shared/tunnel/frames.ts";
import { errorText } from "../../src/shared/words.ts";
import { LONGEST_TIMER_MS } from "../core/bounds.ts";
import { Engine, type ExecStream } from "../engine/engine.ts";
import { Newest } from "../tunnels/newest.ts";

/** What the agent asks of the process between a tunnel and an engine. It is an argument: it has no secret. */
export interface BridgeAsk {
  socket: string;
  container: string;
  argv: string[];
  /** Entries of the command's environment, beside those of the container. */
  env: string[];
  /** Whether the command gets a terminal. */
  terminal: boolean;
}

/** The argument of the agent's program that makes it such a process. */
export const ENTER = "--enter";

/** The words that start the process. */
export function bridgeWords(program: readonly string[], ask: BridgeAsk): string[] {
  return [...program, ENTER, JSON.stringify(ask)];
}

/** The exit code of a shell whose command cannot be executed. */
const NOT_ENTERED = 126;
const FORWARDED = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/**
 * Runs a command in a container by its engine, which gives it the container's user, limits and walls, and
 * copies its input and output. Resolves with its exit code. It ends when the command has ended; if it is
 * killed, the command is found by its environment.
 */
export async function enterContainer(text: string): Promise<number> {
  // A long request keeps no process alive by itself.
  const alive = setInterval(() => undefined, LONGEST_TIMER_MS);
  let hasBegun = false;
  try {
    // The agent itself wrote it.
    const ask = JSON.parse(text) as BridgeAsk;
    const engine = new Engine(ask.socket);
    const exec = await engine.createExec(ask.container, {
      Cmd: ask.argv,
      Env: ask.env,
      Tty: ask.terminal,
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
    });
    const stream = await engine.startExec(exec, { tty: ask.terminal });
    hasBegun = true;
    passSignals(engine, exec, ask.env);
    if (ask.terminal) passSizes(engine, exec);
    process.stdin.on("error", () => undefined).pipe(stream.input.on("error", () => undefined));
    await copyOut(stream);
    return await exitCodeOf(engine, exec);
  } catch (error) {
    const what = hasBegun
      ? "the command in the container may go on, and its end is not known"
      : "the command could not be started in the container";
    process.stderr.write(`drover: ${what}: ${errorText(error)}\n`);
    return NOT_ENTERED;
  } finally {
    clearInterval(alive);
  }
}

async function copyOut({ output }: ExecStream): Promise<void> {
  for await (const { stream, data } of output) {
    await new Promise((resolve) => process[stream].write(data, resolve));
  }
}

/** The stream may end a moment before the engine knows the exit code. */
async function exitCodeOf(engine: Engine, exec: string): Promise<number> {
  for (;;) {
    const facts = await engine.inspectExec(exec);
    if (facts === undefined) throw new Error("the container engine has forgotten the command.");
    if (!facts.running && facts.exitCode !== undefined) return facts.exitCode;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Passes the size of the terminal on, now and whenever it changes. */
function passSizes(engine: Engine, exec: string): void {
  // Node makes them of these classes if they are terminals, and this is asked below.
  const [input, output] = [process.stdin as ReadStream, process.stdout as WriteStream];
  if (input.isTTY) input.setRawMode(true);
  if (!output.isTTY) return;
  // `stty` changes one dimension after the other, so two sizes may come at once.
  const size = new Newest<TerminalSize>(({ rows, columns }) =>
    engine.resizeExec(exec, rows, columns).catch(() => undefined),
  );
  const pass = () => void size.set({ rows: output.rows, columns: output.columns });
  output.on("resize", pass);
  pass();
}

/** Signals the command itself: engines have no call for that. The mark in its environment identifies it. */
function passSignals(engine: Engine, exec: string, env: readonly string[]): void {
  const pass = async (signal: NodeJS.Signals) => {
    const { pid = 0 } = (await engine.inspectExec(exec).catch(() => undefined)) ?? {};
    if (pid > 0 && env.every((entry) => environmentOf(pid).includes(entry))) sendSignal(pid, signal);
    // Of a process of another namespace of pids nothing is known: this one ends as the command should.
    else process.exit(128 + constants.signals[signal]);
  };
  for (const signal of FORWARDED) process.on(signal, () => void pass(signal));
}
