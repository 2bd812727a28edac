// How do many small parts become few large pieces?

/** Fills pieces of one size, so that what takes them is called once for hundreds of small files. */
export class Pieces {
  readonly #size: number;
  #piece: Buffer;
  #filled = 0;

  constructor(size: number) {
    this.#size = size;
    this.#piece = Buffer.allocUnsafe(size);
  }

  /** The free part of the present piece. It is never empty. Say with `wrote` how much of it is used. */
  get room(): Buffer {
    return this.#piece.subarray(this.#filled);
  }

  /** Notes that the first bytes of `room` are written. Returns the piece if it is full now. */
  wrote(bytes: number): Buffer | undefined {
    this.#filled += bytes;
    if (this.#filled < this.#size) return undefined;
    const full = this.#piece;
    this.#piece = Buffer.allocUnsafe(this.#size);
    this.#filled = 0;
    return full;
  }

  /** Adds bytes. Yields each piece that is full. */
  *add(bytes: Buffer): Generator<Buffer> {
    for (let at = 0; at < bytes.length; ) {
      const copied = bytes.copy(this.room, 0, at);
      at += copied;
      const full = this.wrote(copied);
      if (full !== undefined) yield full;
    }
  }

  /** What has been added since the last full piece. */
  get rest(): Buffer {
    return this.#piece.subarray(0, this.#filled);
  }
}
