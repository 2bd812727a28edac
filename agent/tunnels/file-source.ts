// How is a growing file sent through a tunnel, and its space given back?
import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { Source } from "../../src/shared/tunnel/channel.ts";
import { freeSpace } from "../exec/files/punch.ts";

/** Space is given back in steps of this size: each step starts a program. */
const FREE_EVERY_BYTES = 16 * 1024 * 1024;

/** The output of a command, in the file to which the command writes. */
export class FileSource implements Source {
  hasEnded = false;
  size = 0;
  /** How many bytes the other side has. */
  taken = 0;
  readonly #path: string;
  #freed = 0;

  constructor(path: string) {
    this.#path = path;
    this.look();
  }

  /** Looks how far the file has grown. Whether it has. */
  look(): boolean {
    const before = this.size;
    this.size = Math.max(before, statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0);
    return this.size > before;
  }

  /** How many bytes wait for the other side. */
  get backlog(): number {
    return this.size - this.taken;
  }

  read(from: number, bytes: number): Uint8Array {
    const file = openSync(this.#path, "r");
    try {
      const buffer = Buffer.allocUnsafe(bytes);
      return buffer.subarray(0, readSync(file, buffer, 0, bytes, from));
    } finally {
      closeSync(file);
    }
  }

  drop(upTo: number): void {
    this.taken = Math.max(this.taken, upTo);
    if (this.taken - this.#freed < FREE_EVERY_BYTES) return;
    const from = this.#freed;
    this.#freed = this.taken;
    // Where space cannot be given back, the file only stays larger until the tunnel is closed.
    freeSpace(this.#path, from, this.taken).catch(() => undefined);
  }
}
