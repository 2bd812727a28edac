// In which order are the lines of both streams shown, as far as the stamps of their host say (ui.md#both)?
import { joined } from "../bytes/joined.ts";

const NEWLINE = 0x0a;
/** More than this without a newline is shown as a row of its own. */
const MAX_PENDING_BYTES = 64 * 1024;

export type StreamName = "stdout" | "stderr";

/** An offset in each stream. */
export type Offsets = Record<StreamName, number>;

/** Bytes that arrived together, as the API says it (api.md#arrivals). */
export interface Arrival {
  stream: StreamName;
  from: number;
  to: number;
  /** When; null: nobody knows. */
  at: string | null;
  /** If the agent did not look in between: they arrived after this, and before `at`. */
  after: string | null;
}

/** A line of one stream, or the part of it that has arrived. */
export interface StreamLine {
  stream: StreamName;
  /** Its bytes in its stream: `from` up to `to`. */
  from: number;
  to: number;
  bytes: Uint8Array;
  /** When its end arrived. */
  at: string | null;
}

/** What arrived first, of at most so many bytes; but one arrival at least. */
export function firstOf(arrivals: readonly Arrival[], mostBytes: number): readonly Arrival[] {
  let bytes = 0;
  const end = arrivals.findIndex(({ from, to }, index) => {
    bytes += to - from;
    return index > 0 && bytes > mostBytes;
  });
  return end < 0 ? arrivals : arrivals.slice(0, end);
}

/** Where the next arrivals of each stream begin. */
export function offsetsAfter(start: Offsets, arrivals: readonly Arrival[]): Offsets {
  const next = { ...start };
  for (const { stream, to } of arrivals) next[stream] = to;
  return next;
}

/** Makes lines of what arrives. A line is there once its end is, whatever the other stream got until then. */
export class LineMerge {
  /** Streams whose beginning is left out, and of which nothing has arrived yet. */
  readonly #awaited: Set<StreamName>;
  /** Streams that may begin within a line, until its end. */
  readonly #cut: Set<StreamName>;
  readonly #pending: Partial<Record<StreamName, StreamLine>> = {};

  /** `start`: where each stream begins. */
  constructor(start: Offsets) {
    const cut = (["stdout", "stderr"] as const).filter((stream) => start[stream] > 0);
    this.#awaited = new Set(cut);
    this.#cut = new Set(cut);
  }

  /**
   * Takes what arrived next, and returns the lines that it ends. What is earlier than the beginning of a
   * stream that is cut off is left out: the view would say that this stream was silent.
   */
  take({ stream, from, at }: Arrival, bytes: Uint8Array): StreamLine[] {
    this.#awaited.delete(stream);
    const lines: StreamLine[] = [];
    let begin = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, begin)) {
      const line = this.#grown(stream, from + begin, bytes.subarray(begin, end + 1), at);
      delete this.#pending[stream];
      begin = end + 1;
      if (!this.#cut.delete(stream) && this.#awaited.size === 0) lines.push(line);
    }
    if (begin === bytes.length) return lines;
    const rest = this.#grown(stream, from + begin, bytes.subarray(begin), at);
    this.#pending[stream] = rest;
    if (rest.bytes.length > MAX_PENDING_BYTES) {
      delete this.#pending[stream];
      if (!this.#cut.has(stream) && this.#awaited.size === 0) lines.push(rest);
    }
    return lines;
  }

  /** The lines that have not ended, stdout first. */
  unended(): StreamLine[] {
    const { stdout, stderr } = this.#pending;
    if (this.#awaited.size > 0) return [];
    return [stdout, stderr]
      .filter((line) => line !== undefined)
      .filter(({ stream }) => !this.#cut.has(stream));
  }

  #grown(stream: StreamName, from: number, bytes: Uint8Array, at: string | null): StreamLine {
    const begun = this.#pending[stream];
    const to = from + bytes.length;
    // A copy: a line must not keep the whole answer in memory.
    if (begun === undefined) return { stream, from, to, bytes: bytes.slice(), at };
    const whole = joined([begun.bytes, bytes], begun.bytes.length + bytes.length);
    return { stream, from: begun.from, to, bytes: whole, at };
  }
}
