// How does input reach a command through a named pipe, each byte once (tunnels.md#survives)?
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { errorCode } from "../../posix/errors.ts";
import { readIfThere } from "../../posix/files.ts";

/** How long to wait for a command that does not read, before the next try. */
const RETRY_MS = 10;
/** The width of the number in the file of the count. */
const COUNT_CHARS = 16;

/** The files of a command's input. `pipe`: the named pipe. `count`: how many bytes were written to it. */
export interface InputFiles {
  pipe: string;
  count: string;
}

/**
 * The input of a command. The bytes are counted before they are written, in a file that outlives the agent:
 * after a crash a few bytes may be missing, but none comes twice.
 */
export class Input {
  readonly #pipe: number;
  readonly #count: number;
  readonly #used: (bytes: number) => void;
  readonly #waiting: Uint8Array[] = [];
  #written: number;
  #ends: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `used` is called for bytes that the command has room for. */
  constructor({ pipe, count }: InputFiles, used: (bytes: number) => void) {
    // With both directions, the pipe opens although nobody reads yet.
    this.#pipe = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    this.#written = writtenBefore(count);
    this.#count = openSync(count, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#used = used;
  }

  write(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#flush();
  }

  /** No more input comes. `written` is called once the rest is written. */
  end(written: () => void): void {
    this.#ends = written;
    this.#flush();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    closeSync(this.#pipe);
    closeSync(this.#count);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (this.#isClosed) return;
      const written = this.#writeSome(first);
      if (written === 0) {
        this.#timer = setTimeout(() => this.#flush(), RETRY_MS);
        return;
      }
      if (written === first.length) this.#waiting.shift();
      else this.#waiting[0] = first.subarray(written);
      this.#used(written);
    }
    this.#finish();
  }

  #finish(): void {
    const written = this.#ends;
    this.#ends = undefined;
    written?.();
  }

  #writeSome(bytes: Uint8Array): number {
    this.#note(this.#written + bytes.length);
    let written = 0;
    try {
      written = writeSync(this.#pipe, bytes);
    } catch (error) {
      if (errorCode(error) !== "EAGAIN") throw error;
    }
    this.#written += written;
    if (written < bytes.length) this.#note(this.#written);
    return written;
  }

  #note(count: number): void {
    writeSync(this.#count, String(count).padStart(COUNT_CHARS), 0);
  }
}

/** How many bytes an earlier start of the agent has written. */
export function writtenBefore(count: string): number {
  return Number(readIfThere(count) ?? 0);
}
