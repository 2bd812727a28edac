// Where does each frame of a zstd file end (RFC 8878)?
import { ArchiveFault } from "../faults.ts";

const MAGIC = 0xfd2fb528;
/** The most that one block of a frame becomes: a good size for what is passed on at a time. */
export const MAX_BLOCK_BYTES = 128 * 1024;
/** Frames without content cost time, and no bound on what an archive unpacks to ends that. */
const MAX_FRAMES = 1_000_000;
/** Frames with other content, which every reader passes over: 16 magic numbers from this one on. */
const FIRST_SKIPPABLE = 0x184d2a50;
const SKIPPABLE_KINDS = 16;
const CHECKSUM_BYTES = 4;
/** How many bytes the field for the size of the content has, and that of the dictionary, by its code. */
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
/** A block of this kind has one byte, which is repeated. */
const REPEATED = 1;

/** A field that says how long something is. The number is its size in bytes. */
const FIELD_BYTES = { magic: 4, "size of what is skipped": 4, "frame header": 1, "block header": 3 };
type Field = keyof typeof FIELD_BYTES;

/**
 * Divides the parts of a zstd file so that no part goes beyond the end of a frame: a decompressor of Node
 * that gets more than that ends without a word, and loses the rest (decisions/files.md#reading-zstd). Throws
 * an `ArchiveFault` if the file ends within a frame, if there is something else between frames, or if there
 * are too many of them.
 */
export async function* withinFrames(parts: AsyncIterable<Buffer>, most = MAX_FRAMES): AsyncGenerator<Buffer> {
  const frames = new Frames();
  for await (const part of parts) {
    for (let at = 0; at < part.length; ) {
      const end = frames.read(part, at);
      if (frames.count > most) throw new ArchiveFault(`it has more than ${most} frames of zstd`);
      yield part.subarray(at, end);
      at = end;
    }
  }
  if (frames.isInside) throw new ArchiveFault("it is cut: it ends within a frame of zstd");
}

/** Follows a file from field to field. */
class Frames {
  /** How many bytes come before the next field. */
  #between = 0;
  /** What comes next. Absent: the frame ends there. */
  #next: Field | undefined = "magic";
  readonly #bytes = Buffer.alloc(4);
  #filled = 0;
  #hasChecksum = false;
  /** How many frames have begun. */
  count = 0;

  get isInside(): boolean {
    return this.#next !== "magic" || this.#filled > 0;
  }

  /** Reads on in a part of the file. Returns where the frame ends, or the part if it ends first. */
  read(part: Buffer, from: number): number {
    for (let at = from; ; ) {
      const passed = Math.min(this.#between, part.length - at);
      this.#between -= passed;
      at += passed;
      if (this.#between > 0) return at;
      if (this.#next === undefined) {
        this.#next = "magic";
        return at;
      }
      const copied = part.copy(this.#bytes, this.#filled, at, at + FIELD_BYTES[this.#next] - this.#filled);
      this.#filled += copied;
      at += copied;
      if (this.#filled < FIELD_BYTES[this.#next]) return at;
      this.#filled = 0;
      this.#next = this.#after(this.#next);
    }
  }

  /** What comes after a field, and after the bytes that it announces. */
  #after(field: Field): Field | undefined {
    switch (field) {
      case "magic":
        this.count += 1;
        return afterMagic(this.#bytes.readUInt32LE());
      case "size of what is skipped":
        this.#between = this.#bytes.readUInt32LE();
        return undefined;
      case "frame header":
        return this.#afterFrameHeader(this.#bytes.readUInt8());
      case "block header":
        return this.#afterBlockHeader(this.#bytes.readUIntLE(0, 3));
    }
  }

  #afterFrameHeader(flags: number): Field {
    const isSingleSegment = (flags & 0x20) !== 0;
    this.#hasChecksum = (flags & 0x04) !== 0;
    const contentSize = CONTENT_SIZE_BYTES[flags >> 6] ?? 0;
    // Instead of a window, a single segment has the size of its content, of at least one byte.
    this.#between = (isSingleSegment ? Math.max(contentSize, 1) : contentSize + 1) + dictionaryIdOf(flags);
    return "block header";
  }

  #afterBlockHeader(header: number): Field | undefined {
    const isLast = (header & 1) !== 0;
    const kind = (header >> 1) & 3;
    this.#between = kind === REPEATED ? 1 : header >> 3;
    if (!isLast) return "block header";
    if (this.#hasChecksum) this.#between += CHECKSUM_BYTES;
    return undefined;
  }
}

function afterMagic(magic: number): Field {
  if (magic === MAGIC) return "frame header";
  const kind = magic - FIRST_SKIPPABLE;
  if (kind >= 0 && kind < SKIPPABLE_KINDS) return "size of what is skipped";
  throw new ArchiveFault("there is something else between its frames of zstd, or behind them");
}

function dictionaryIdOf(flags: number): number {
  return DICTIONARY_ID_BYTES[flags & 3] ?? 0;
}
