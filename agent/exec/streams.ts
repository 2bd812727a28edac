// How far have the output streams of attempts grown, and what do they contain?
import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { StreamName } from "../../src/schema/host.ts";
import { OUTPUT_REPORT_DELAY_MS } from "../core/bounds.ts";
import type { HostEvent } from "../core/events.ts";
import { STREAMS } from "../core/reports/logs.ts";
import type { AttemptStore } from "./processes/dirs.ts";

/**
 * Watches the files of the attempts' output streams. A command can delete or replace its own files: an error
 * there must not keep other attempts from being reported.
 */
export class Streams {
  readonly #store: AttemptStore;
  readonly #tell: (event: HostEvent) => void;
  /** Attempts whose streams may grow, with the sizes of the latest events. */
  readonly #sizes = new Map<string, Record<StreamName, number>>();
  #polling: NodeJS.Timeout | undefined;

  constructor(store: AttemptStore, tell: (event: HostEvent) => void) {
    this.#store = store;
    this.#tell = tell;
  }

  /** Begins to watch the streams of an attempt, by polling: that is more reliable than file events. */
  watch(id: string): void {
    this.#sizes.set(id, { stdout: 0, stderr: 0 });
    this.#polling ??= setInterval(() => {
      for (const watched of this.#sizes.keys()) this.look(watched);
    }, OUTPUT_REPORT_DELAY_MS).unref();
  }

  /** Looks at the streams for the last time: nothing writes to them any more. */
  unwatch(id: string): void {
    this.look(id);
    this.#sizes.delete(id);
    if (this.#sizes.size > 0) return;
    clearInterval(this.#polling);
    this.#polling = undefined;
  }

  /** Emits an event for each stream of an attempt whose size has changed. */
  look(id: string): void {
    const known = this.#sizes.get(id);
    if (known === undefined) return;
    for (const stream of STREAMS) {
      const size = sizeOf(this.fileOf(id, stream));
      if (size === known[stream]) continue;
      known[stream] = size;
      this.#tell({ type: "output", id, stream, size });
    }
  }

  /** The file of a stream. */
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

/** The size of a log; 0 if the task has deleted the file, or put something else in its place. */
function sizeOf(file: string): number {
  try {
    const stat = statSync(file);
    return stat.isFile() ? stat.size : 0;
  } catch {
    return 0;
  }
}
