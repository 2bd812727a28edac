// Where does output go, and how does a verb notice that nobody reads it any more?
import { constants } from "node:os";
import type { Writable } from "node:stream";
import { exitCodeOfSignal } from "../errors.ts";

/** The output has no reader any more (`| head -1`). No error is printed, since the user closed the output. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
  /** The exit code that a shell gives for SIGPIPE. */
  readonly exitCode = exitCodeOfSignal(constants.signals.SIGPIPE);
}

/** Where bytes go. */
export interface Sink {
  /** Resolves when the reader has taken the bytes. Awaiting this applies back-pressure. */
  write(bytes: Uint8Array | string): Promise<void>;
  isTerminal: boolean;
  /** Whether to use colors (https://no-color.org). */
  color: boolean;
  /** Width of the terminal, in columns. */
  columns(): number;
  /** Height of the terminal, in lines. */
  rows(): number;
}

const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** Wraps a stream of the process. `write` throws `OutputClosed`, or the system's error. */
export function sinkOf(
  stream: Writable & { isTTY?: boolean; columns?: number; rows?: number },
  env: NodeJS.ProcessEnv,
): Sink {
  const isTerminal = stream.isTTY === true;
  let failure: Error | undefined;
  // Without a listener, an error of a standard stream ends the process with a stack trace.
  stream.on("error", (error: NodeJS.ErrnoException) => {
    failure ??= outputError(error);
  });
  return {
    isTerminal,
    color: isTerminal && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb",
    // A terminal of unknown size reports 0.
    columns: () => stream.columns || DEFAULT_COLUMNS,
    rows: () => stream.rows || DEFAULT_ROWS,
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure);
        stream.write(bytes, (error) => (error ? reject(outputError(error)) : resolve()));
      }),
  };
}

/** A pipe without a reader, a destroyed stream, a terminal that is gone. */
const CLOSED_CODES: readonly string[] = ["EPIPE", "ERR_STREAM_DESTROYED", "EIO"];

function outputError(error: NodeJS.ErrnoException): Error {
  const closed = CLOSED_CODES.includes(error.code ?? "");
  return closed ? new OutputClosed("nobody reads the output any more", { cause: error }) : error;
}
