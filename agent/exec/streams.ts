// How far have the output streams of attempts grown, and what do they contain?
import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { StreamName } from "../../src/schema/host.ts";
import type { Instant } from "../../src/shared/machine.ts";
import { OUTPUT_REPORT_DELAY_MS } from "../core/bounds.ts";
import type { HostEvent } from "../core/events.ts";
import { maskIn } from "../core/redaction/mask.ts";
import { STREAMS } from "../core/reports/logs.ts";
import { Arrivals, type Grown } from "./arrivals.ts";
import type { Maskers } from "./maskers.ts";
import type { AttemptStore } from "./processes/dirs.ts";
import { Wakes } from "./wakes.ts";

/** `written`: the size of the file at the latest look. `told`: the size in the latest event. */
interface Sizes {
  written: number;
  told: number;
}

/**
 * Watches the files of the attempts' output streams, and reads them without the attempts' secrets. A command
 * can delete or replace its own files. The error that follows must not keep other attempts from being
 * reported.
 */
export class Streams {
  readonly #store: AttemptStore;
  readonly #maskers: Maskers;
  readonly #tell: (event: HostEvent) => void;
  readonly #now: () => Instant;
  readonly #arrivals: Arrivals;
  readonly #wakes = new Wakes((id) => this.#sizesOf(id));
  /** Attempts whose streams may grow. */
  readonly #sizes = new Map<string, Record<StreamName, Sizes>>();
  #polling: NodeJS.Timeout | undefined;

  /** `now` is the time since the boot of this machine. */
  constructor(
    store: AttemptStore,
    maskers: Maskers,
    { tell, now }: { tell: (event: HostEvent) => void; now: () => Instant },
  ) {
    this.#store = store;
    this.#maskers = maskers;
    this.#tell = tell;
    this.#now = now;
    this.#arrivals = new Arrivals(store, now);
  }

  /** Begins to watch the streams of an attempt that has been started. */
  watch(id: string): void {
    this.stamp(id);
    this.follow(id);
  }

  /** Begins to stamp what an attempt writes. It is not told yet: the start is to be told first. */
  stamp(id: string): void {
    this.#arrivals.begin(id);
    this.#wakes.watch(id, this.#store.dirsOf(id).root);
  }

  /**
   * Begins to tell what is written, by polling, which is more reliable than file events. Events only make the
   * stamps finer.
   */
  follow(id: string): void {
    this.#sizes.set(id, { stdout: { written: 0, told: 0 }, stderr: { written: 0, told: 0 } });
    this.#polling ??= setInterval(() => {
      for (const watched of this.#sizes.keys()) this.look(watched);
    }, OUTPUT_REPORT_DELAY_MS).unref();
  }

  /** Looks at the streams for the last time: nothing writes to them any more, so nothing is held back. */
  unwatch(id: string): void {
    this.#look(id, true);
    this.#wakes.unwatch(id);
    this.#sizes.delete(id);
    if (this.#sizes.size > 0) return;
    clearInterval(this.#polling);
    this.#polling = undefined;
  }

  /**
   * Emits an event for each stream of an attempt that has more to send. Bytes that may be the beginning of a
   * secret are held back until more output follows (redaction.md#hold-back).
   */
  look(id: string): void {
    this.#look(id, false);
  }

  /** The file of a stream. */
  fileOf(id: string, stream: StreamName): string {
    return this.#store.dirsOf(id)[stream];
  }

  /** Whether the attempt has secrets. If it has, its output may be sent only as `read` returns it. */
  isMasked(id: string): boolean {
    return this.#maskers.of(id) !== undefined;
  }

  /**
   * Up to `bytes` of a stream, from offset `from` on, without secrets (redaction.md#equal-length); empty if
   * its file cannot be read.
   */
  read(id: string, stream: StreamName, from: number, bytes: number): Buffer {
    const file = this.fileOf(id, stream);
    const masker = this.#maskers.of(id);
    if (masker === undefined) return readPart(file, from, bytes);
    const start = Math.max(0, from - masker.context);
    const around = readPart(file, start, from + bytes + masker.context - start);
    maskIn(masker, around);
    return around.subarray(from - start, from - start + bytes);
  }

  /** When which of these bytes arrived (`Arrivals.of`). */
  stampsOf(...[id, stream, wanted]: Parameters<Arrivals["of"]>): number[] | undefined {
    return this.#arrivals.of(id, stream, wanted);
  }

  /** Forgets an attempt whose files are deleted. */
  forget(id: string): void {
    this.#arrivals.forget(id);
  }

  /** The sizes of both streams now, with a stamp for what is new. */
  #sizesOf(id: string): Record<StreamName, Grown> {
    const now = this.#now();
    const { stdout, stderr } = this.#store.dirsOf(id);
    // One look at the clock: what was written at the same moment must not look as if it came before.
    const wallMs = Date.now();
    const grown = { stdout: grownTo(stdout, wallMs), stderr: grownTo(stderr, wallMs) };
    this.#arrivals.look(id, grown, now);
    return grown;
  }

  #look(id: string, isLast: boolean): void {
    const known = this.#sizes.get(id);
    if (known === undefined) return;
    const sizes = this.#sizesOf(id);
    for (const stream of STREAMS) {
      const file = this.fileOf(id, stream);
      const written = sizes[stream].size;
      if (written === known[stream].written && !isLast) continue;
      const size = isLast ? written : this.#releasable(id, file, written);
      const isNew = size !== known[stream].told;
      known[stream] = { written, told: size };
      if (isNew) this.#tell({ type: "output", id, stream, size });
    }
  }

  /**
   * How many bytes of a growing stream may be sent: all bytes before a possible beginning of a secret at its
   * end.
   */
  #releasable(id: string, file: string, written: number): number {
    const masker = this.#maskers.of(id);
    if (masker === undefined) return written;
    const start = Math.max(0, written - masker.context);
    return written - masker.openBytes(readPart(file, start, written - start));
  }
}

/** Up to `bytes` of a file from offset `from` on; empty if it cannot be read. */
function readPart(path: string, from: number, bytes: number): Buffer {
  try {
    const file = openSync(path, "r");
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

/** How far a log has grown. Not at all, if the task has deleted it or put something else in its place. */
function grownTo(file: string, wallMs: number): Grown {
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat?.isFile()) return { size: stat.size, agoMs: wallMs - stat.mtimeMs };
  } catch {
    // The same as a file of another kind.
  }
  return { size: 0, agoMs: 0 };
}
