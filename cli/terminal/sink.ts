import { constants } from "node:os";
import type { Writable } from "node:stream";
import { exitCodeOfSignal } from "../errors.ts";

/** Nobody reads this output any more (`| head -1`). Quiet by nature: who closed it knows. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
  /** What the shell would say of a program that wrote into a closed pipe. */
  readonly exitCode = exitCodeOfSignal(constants.signals.SIGPIPE);
}

/** Where bytes go. */
export interface Sink {
  /** Resolves once the reader's side has taken the bytes: who awaits it is as slow as the reader. */
  write(bytes: Uint8Array | string): Promise<void>;
  isTerminal: boolean;
  /** Colors are wanted here (https://no-color.org). */
  color: boolean;
  /** Width of the terminal, in columns. */
  columns(): number;
}

const DEFAULT_COLUMNS = 80;

/** Wraps one of the process's own streams. Throws `OutputClosed`, or the system's error, from `write`. */
export function sinkOf(
  stream: Writable & { isTTY?: boolean; columns?: number },
  env: NodeJS.ProcessEnv,
): Sink {
  const isTerminal = stream.isTTY === true;
  let failure: Error | undefined;
  // Without a listener an error of a standard stream ends the process with a stack trace.
  stream.on("error", (error: NodeJS.ErrnoException) => {
    failure ??= outputError(error);
  });
  return {
    isTerminal,
    color: isTerminal && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb",
    // A terminal that does not know its size says 0.
    columns: () => stream.columns || DEFAULT_COLUMNS,
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure);
        stream.write(bytes, (error) => (error ? reject(outputError(error)) : resolve()));
      }),
  };
}

/** A pipe without a reader, a stream that is over, and a terminal that has gone away. */
const CLOSED_CODES: readonly string[] = ["EPIPE", "ERR_STREAM_DESTROYED", "EIO"];

function outputError(error: NodeJS.ErrnoException): Error {
  const closed = CLOSED_CODES.includes(error.code ?? "");
  return closed ? new OutputClosed("nobody reads the output any more", { cause: error }) : error;
}
