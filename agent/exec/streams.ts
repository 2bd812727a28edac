import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { StreamName } from "../../src/schema/host.ts";
import type { HostEvent } from "../core/events.ts";
import type { AttemptStore } from "./processes/dirs.ts";

/**
 * The streams of attempts as their files have them. A command can delete or replace these, and what it does
 * to its own log must keep nothing else from being reported.
 */
export class Streams {
  readonly #store: AttemptStore;
  readonly #tell: (event: HostEvent) => void;
  /** Attempts whose streams may grow, with the sizes told last. */
  readonly #sizes = new Map<string, Record<StreamName, number>>();

  constructor(store: AttemptStore, tell: (event: HostEvent) => void) {
    this.#store = store;
    this.#tell = tell;
  }

  /** The streams of this attempt may grow from now on. */
  watch(id: string): void {
    this.#sizes.set(id, { stdout: 0, stderr: 0 });
  }

  /** Looks a last time: nothing writes to them any more. */
  unwatch(id: string): void {
    this.look(id);
    this.#sizes.delete(id);
  }

  /** Tells how far the streams of an attempt have grown. */
  look(id: string): void {
    const told = this.#sizes.get(id);
    if (told === undefined) return;
    for (const stream of ["stdout", "stderr"] as const) {
      const size = sizeOf(this.fileOf(id, stream));
      if (size === told[stream]) continue;
      told[stream] = size;
      this.#tell({ type: "output", id, stream, size });
    }
  }

  /** The same for all whose streams may grow. */
  lookAll(): void {
    for (const id of this.#sizes.keys()) this.look(id);
  }

  /** The file that a stream of an attempt is written to. */
  fileOf(id: string, stream: StreamName): string {
    return this.#store.dirsOf(id)[stream];
  }

  /** Up to `bytes` of a stream, from offset `from` on; empty if its file cannot be read. */
  read(id: string, stream: StreamName, from: number, bytes: number): Buffer {
    try {
      const file = openSync(this.fileOf(id, stream), "r");
      try {
        const buffer = Buffer.allocUnsafe(bytes);
        return buffer.subarray(0, readSync(file, buffer, 0, bytes, from));
      } finally {
        closeSync(file);
      }
    } catch {
      return Buffer.alloc(0);
    }
  }
}

/** The bytes of a log; none if there is no file any more, or something else in its place. */
function sizeOf(file: string): number {
  try {
    const stat = statSync(file);
    return stat.isFile() ? stat.size : 0;
  } catch {
    return 0;
  }
}
