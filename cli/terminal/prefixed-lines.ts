// How are the lines of one source told from those of others in the same output?

/** A line that grows longer than this without an end is cut. */
export const MAX_PREFIXED_LINE_BYTES = 64 * 1_024;
const NEWLINE = 0x0a;

/** Writes bytes as whole lines, each after a prefix, so that lines of several sources never mix. */
export class PrefixedLines {
  readonly #prefix: Buffer;
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  #rest: Buffer = Buffer.alloc(0);
  #stamp = "";

  constructor(prefix: string, write: (bytes: Uint8Array) => Promise<void>) {
    this.#prefix = Buffer.from(prefix);
    this.#write = write;
  }

  /**
   * Writes the lines that are complete, and keeps the beginning of the next. `stamp` follows the prefix of
   * each line that these bytes end.
   */
  async write(bytes: Uint8Array, stamp = ""): Promise<void> {
    this.#stamp = stamp;
    const before = Buffer.concat([this.#prefix, Buffer.from(stamp)]);
    const all = Buffer.concat([this.#rest, bytes]);
    const parts: Buffer[] = [];
    let from = 0;
    for (;;) {
      const end = all.indexOf(NEWLINE, from);
      const line = all.subarray(from, end < 0 ? all.length : end);
      if (end < 0 && line.length < MAX_PREFIXED_LINE_BYTES) break;
      const cut = line.subarray(0, MAX_PREFIXED_LINE_BYTES);
      parts.push(before, cut, LINE_END);
      from += cut.length + (cut.length === line.length && end >= 0 ? 1 : 0);
    }
    this.#rest = Buffer.from(all.subarray(from));
    if (parts.length > 0) await this.#write(Buffer.concat(parts));
  }

  /** Writes the last line, which has no end. */
  async end(): Promise<void> {
    if (this.#rest.length > 0) await this.write(LINE_END, this.#stamp);
  }
}

const LINE_END = Buffer.from("\n");
