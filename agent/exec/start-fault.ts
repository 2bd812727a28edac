// Why can a command not be started?
import { errorCode, isDiskFull, isStarved } from "../../posix/errors.ts";
import type { StartError } from "../../src/schema/host.ts";
import { errorText } from "../../src/shared/words.ts";

/** Longest text of an error: every report must have room for it. */
export const MAX_ERROR_CHARS = 1_024;

/** The error of a start, for its report. */
export class StartFault extends Error {
  override readonly name = "StartFault";
  readonly startError: StartError;

  constructor(code: StartError["code"], text: string, more: Pick<StartError, "recoverable"> = {}) {
    super(text);
    this.startError = { code, text: text.slice(0, MAX_ERROR_CHARS), ...more };
  }
}

/** The error of a start that failed with a `StartFault` or with the system's error. */
export function startErrorOf(error: unknown): StartError {
  if (error instanceof StartFault) return error.startError;
  if (errorCode(error) === "E2BIG") {
    const text =
      "The arguments and the environment together are larger than this machine can pass to a process.";
    return { code: "arguments_too_long", text };
  }
  if (isDiskFull(error)) return noSpace();
  if (isStarved(error)) return starved(error);
  return new StartFault("start_failed", `The command could not be started: ${errorText(error)}`).startError;
}

/** The error for a disk that was full before the command began. */
export function noSpace(): StartError {
  const text = "No space is left on this machine's disk: the command was not started.";
  return { code: "start_failed", text };
}

/**
 * The error for a machine that has run out of open files, processes or memory. It is recoverable: another
 * attempt may succeed later.
 */
export function starved(error?: unknown): StartError {
  const code = errorCode(error);
  const what = code === "EMFILE" || code === "ENFILE" ? "open more files" : "start more processes";
  const why = error === undefined ? "" : ` (${errorText(error)})`;
  const text = `This machine cannot ${what} now: the command was not started${why}.`;
  return new StartFault("start_failed", text, { recoverable: true }).startError;
}
