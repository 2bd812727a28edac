import type { StartError } from "../../src/schema/host.ts";

/** Why a command cannot be started, thrown from wherever that is found out. */
export class StartFault extends Error {
  override readonly name = "StartFault";
  readonly startError: StartError;

  constructor(code: StartError["code"], text: string, more: Pick<StartError, "recoverable"> = {}) {
    super(text);
    this.startError = { code, text: text.slice(0, MAX_FAULT_CHARS), ...more };
  }
}

/** Room for it in every report. */
const MAX_FAULT_CHARS = 1_024;
