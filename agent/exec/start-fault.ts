// Why can a command not be started?
import type { StartError } from "../../src/schema/host.ts";

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
