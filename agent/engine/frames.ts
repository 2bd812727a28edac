// Which bytes of a container's output are stdout, and which are stderr?
import { EngineError } from "./errors.ts";
import type { Frame } from "./types.ts";

/** A frame's header: the number of the stream, three zeros, and the length of the content, big endian. */
const HEADER_BYTES = 8;

/** Names of the streams by number. Docker names what is echoed of stdin 0. */
const STREAMS = ["stdout", "stdout", "stderr"] as const;

/** The engine's own words about an output that it could not read. */
const TROUBLE = 3;

/** Longest text of the engine about its own trouble. */
const MAX_TROUBLE_BYTES = 16_384;

/**
 * Takes the multiplexed output of a container apart, in whatever pieces it comes (engine.md#frames). The
 * content of a frame is passed on as it comes, so a large frame needs no memory.
 */
export class Demultiplexer {
  #header = Buffer.alloc(0);
  #stream = 0;
  /** Bytes of the current frame that are still to come. */
  #left = 0;
  #trouble: Buffer[] = [];

  /** The frames in the next piece. Throws `EngineError` for bytes that are no frames. */
  push(piece: Buffer): Frame[] {
    const frames: Frame[] = [];
    let at = 0;
    while (at < piece.length) {
      if (this.#left === 0) {
        at += this.#readHeader(piece, at);
        if (this.#left === 0 && this.#stream === TROUBLE) this.#complain();
        continue;
      }
      const data = piece.subarray(at, at + this.#left);
      at += data.length;
      this.#left -= data.length;
      const stream = STREAMS[this.#stream];
      if (stream !== undefined) frames.push({ stream, data });
      else this.#trouble.push(data);
      if (stream === undefined && this.#left === 0) this.#complain();
    }
    return frames;
  }

  /** Whether the bytes so far end with a whole frame. */
  get whole(): boolean {
    return this.#left === 0 && this.#header.length === 0;
  }

  /** Reads what there is of a header. Returns how many bytes it has used. */
  #readHeader(piece: Buffer, at: number): number {
    const part = piece.subarray(at, at + HEADER_BYTES - this.#header.length);
    const header = this.#header.length === 0 ? part : Buffer.concat([this.#header, part]);
    if (header.length < HEADER_BYTES) {
      this.#header = Buffer.from(header);
      return part.length;
    }
    this.#header = Buffer.alloc(0);
    this.#stream = header.readUInt8(0);
    this.#left = header.readUInt32BE(4);
    const known = this.#stream <= TROUBLE && header.readUIntBE(1, 3) === 0;
    const fits = this.#stream !== TROUBLE || this.#left <= MAX_TROUBLE_BYTES;
    if (known && fits) return part.length;
    const shown = header.toString("hex");
    throw new EngineError(
      "not_engine",
      `The engine's output of a container is not in frames: it has ${shown} where a header should be.`,
    );
  }

  #complain(): never {
    const said = Buffer.concat(this.#trouble).toString("utf8").trim();
    throw new EngineError("server", `The engine cannot read the output of the container: ${said}`, { said });
  }
}
