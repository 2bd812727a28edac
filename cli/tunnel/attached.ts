// How does a command in a run use the terminal, or the pipes, of this command?
import { constants } from "node:os";
import type { Client } from "../../client/client.ts";
import { UnreachableError } from "../../client/errors.ts";
import type { Exec, ExecOptions } from "../../client/tunnels/exec.ts";
import type { SignalName } from "../../client/types.ts";
import { CliError, EXIT, exitCodeOfSignal } from "../errors.ts";
import type { Io } from "../terminal/io.ts";

/** What Ctrl-C is in a terminal that passes every key on. */
const CTRL_C = 3;
/** Signals that are passed on to a command without a terminal. */
const PASSED_ON: readonly SignalName[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
/** How long a connection may be away before that is said. */
const AWAY_MS = 2_000;

/** What to run in a run. */
export interface Attached extends Pick<ExecOptions, "task"> {
  argv: readonly string[];
  /** Pass this command's input on. */
  input: boolean;
  /** Give the command this terminal. */
  terminal: boolean;
}

/** Runs a command in a run, with this command's input and output. Resolves with its exit code. */
export async function execAttached(
  io: Io,
  client: Client,
  run: string,
  { argv, task, input, terminal }: Attached,
): Promise<number> {
  if (terminal && !(process.stdin.isTTY && process.stdout.isTTY)) {
    throw new CliError("A terminal was asked for, but this command's input or output is none.", [
      "Leave -t out, or run this in a terminal.",
    ]);
  }
  const connection = watchConnection(io, terminal);
  const exec = client.runs.exec(run, {
    argv,
    task,
    input,
    ...(terminal && { terminal: { ...sizeOf(process.stdout), term: io.env.TERM ?? "xterm-256color" } }),
    connected: connection.changed,
    stdout: (bytes) => io.stdout.write(bytes),
    stderr: (bytes) => io.stderr.write(bytes),
  });
  const restore = terminal ? useTerminal(exec) : passSignals(exec, connection);
  const passed = input ? passInput(exec, connection, terminal) : Promise.resolve();
  try {
    const unreadable = passed.then(() => new Promise<never>(() => undefined));
    const { exitCode, signal } = await Promise.race([exec.ended, connection.given, unreadable]);
    if (signal === null) return exitCode ?? EXIT.drover;
    const numbers: Record<string, number> = constants.signals;
    return exitCodeOfSignal(numbers[signal] ?? 0);
  } catch (error) {
    throw outOfSight(error, run);
  } finally {
    connection.stop();
    restore();
    exec.close();
  }
}

function outOfSight(error: unknown, run: string): unknown {
  if (!(error instanceof UnreachableError)) return error;
  return new CliError(`The connection into run ${run} is lost: ${error.message}.`, [
    "What was started there goes on for at most five minutes without this command.",
  ]);
}

async function passInput(exec: Exec, { isAway, giveUp }: Connection, isTerminal: boolean): Promise<void> {
  for await (const chunk of process.stdin) {
    const bytes: Buffer = chunk;
    // In this mode the terminal makes no signal of Ctrl-C. With nobody to receive it, it ends this command.
    if (isTerminal && isAway() && bytes.includes(CTRL_C)) giveUp();
    await exec.write(bytes);
  }
  exec.endInput();
}

function useTerminal(exec: Exec): () => void {
  const { stdin, stdout } = process;
  stdin.setRawMode(true);
  const resized = () => exec.resize(sizeOf(stdout));
  stdout.on("resize", resized);
  return () => {
    stdin.setRawMode(false);
    stdin.pause();
    stdout.off("resize", resized);
  };
}

function passSignals(exec: Exec, { isAway, giveUp }: Connection): () => void {
  const listeners = PASSED_ON.map((signal) => {
    // With nobody to receive it, a signal that asks for an end ends this command.
    const ends = signal === "SIGINT" || signal === "SIGTERM";
    const listener = () => (ends && isAway() ? giveUp() : exec.signal(signal));
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  return () => {
    for (const stop of listeners) stop();
  };
}

function sizeOf({ rows, columns }: NodeJS.WriteStream): { rows: number; columns: number } {
  return { rows: rows || 24, columns: columns || 80 };
}

/** Says when the connection is away for long, and when it is back. */
interface Connection {
  changed(isConnected: boolean): void;
  isAway(): boolean;
  /** Rejects once the user has given up. */
  given: Promise<never>;
  giveUp(): void;
  stop(): void;
}

function watchConnection(io: Io, isTerminal: boolean): Connection {
  let isConnected = false;
  let isSaid = false;
  let giveUp: () => void = () => undefined;
  const given = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(new CliError("Ended, while the machine of the run was not connected."));
  });
  given.catch(() => undefined);
  // In raw mode, a line feed alone does not return to the beginning of the line.
  const say = (text: string) => (isTerminal ? io.stderr.write(`\r\ndrover: ${text}\r\n`) : io.say(text));
  const tell = () => {
    isSaid = true;
    void say(
      `The machine of the run is not connected. Waiting for it.${isTerminal ? " Ctrl-C ends this." : ""}`,
    );
  };
  let timer = setTimeout(tell, AWAY_MS);
  return {
    changed(now) {
      if (now === isConnected) return;
      isConnected = now;
      clearTimeout(timer);
      if (!now) timer = setTimeout(tell, AWAY_MS);
      else if (isSaid) {
        isSaid = false;
        void say("It is connected.");
      }
    },
    isAway: () => !isConnected,
    given,
    giveUp: () => giveUp(),
    stop: () => clearTimeout(timer),
  };
}
