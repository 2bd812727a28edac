// How does the client run a command beside that of a task (tunnels.md#inside)?
import { Pieces } from "../../src/shared/tunnel/channel.ts";
import { faultOfAsk, type TerminalSize } from "../../src/shared/tunnel/frames.ts";
import type { Target } from "../transport/http.ts";
import type { SignalName } from "../types.ts";
import { errorOfFault, Tunnel, type TunnelOptions } from "./tunnel.ts";

/** The channel of input and output, and that of the errors. */
const MAIN = 0;
const ERRORS = 1;
/** Input beyond this waits with its writer. */
const MAX_WAITING_BYTES = 1024 * 1024;

export interface ExecOptions extends TunnelOptions {
  argv: readonly string[];
  /** Gives the command a terminal; `term` is its kind. Then all output is `stdout`. */
  terminal?: (TerminalSize & { term?: string }) | undefined;
  /** Input will be written. Default: the command has no input, unless it has a terminal. */
  input?: boolean | undefined;
  /** Called with output. The next output comes once the promise has resolved. */
  stdout?: (bytes: Uint8Array) => void | Promise<void>;
  stderr?: (bytes: Uint8Array) => void | Promise<void>;
}

/** A command that runs in a run. */
export interface Exec {
  /**
   * How it ended: an exit code, or the signal that has ended it. Rejects with an `ApiError` if it could not
   * start or is lost, or with an `UnreachableError`.
   */
  ended: Promise<{ exitCode: number | null; signal: string | null }>;
  /** Sends input. Resolves once there is room for more. */
  write(bytes: Uint8Array): Promise<void>;
  /** The input has ended. */
  endInput(): void;
  resize(size: TerminalSize): void;
  signal(signal: SignalName): void;
  /** Ends the command. */
  close(): void;
}

/** Starts a command beside that of a task. Throws a `TypeError` for a request that cannot be fulfilled. */
export function startExec(target: Target, run: string, options: ExecOptions): Exec {
  const { argv, terminal, input = terminal !== undefined, stdout, stderr } = options;
  const withTerm = terminal && { ...terminal, term: terminal.term ?? "xterm-256color" };
  const ask = { kind: "exec" as const, argv: [...argv], input, ...(withTerm && { terminal: withTerm }) };
  const fault = faultOfAsk(ask);
  if (fault !== undefined) throw new TypeError(fault);
  const typed = new Typed();
  const tell = { [MAIN]: stdout, [ERRORS]: stderr };
  let last = Promise.resolve();
  const data = (channel: number, bytes: Uint8Array) => {
    last = last.then(async () => {
      await (channel === MAIN || channel === ERRORS ? tell[channel]?.(bytes) : undefined);
      tunnel.link.used(channel, bytes.length);
    });
    last.catch((error: unknown) => tunnel.fail(error));
  };
  const tunnel = new Tunnel(target, run, ask, { data, end: () => undefined }, options);
  tunnel.link.open(MAIN, typed);
  tunnel.link.open(ERRORS, new Pieces());
  void tunnel.start();
  // Whoever waits for room waits no longer.
  tunnel.ended.catch(() => undefined).then(() => typed.drop(typed.size));
  return {
    ended: tunnel.ended.then((end) => {
      if (end.t === "fault") throw errorOfFault(end);
      return { exitCode: end.code, signal: end.signal };
    }),
    async write(bytes) {
      typed.push(bytes);
      tunnel.link.pump();
      await typed.room();
    },
    endInput() {
      typed.hasEnded = true;
      tunnel.link.pump();
    },
    resize: ({ rows, columns }) => tunnel.resize(rows, columns),
    signal: (signal) => tunnel.signal(signal),
    close: () => tunnel.close(),
  };
}

/** Input that waits to be sent. */
class Typed extends Pieces {
  #taken = 0;
  #waiting: (() => void)[] = [];

  override drop(upTo: number): void {
    super.drop(upTo);
    this.#taken = upTo;
    if (this.#isFull) return;
    for (const go of this.#waiting.splice(0)) go();
  }

  /** Resolves once little waits. */
  room(): Promise<void> {
    return this.#isFull ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve();
  }

  get #isFull(): boolean {
    return this.size - this.#taken > MAX_WAITING_BYTES;
  }
}
