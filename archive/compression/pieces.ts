// How do many small parts become few large pieces?

/** Fills pieces of one size, so that what takes them is called once for hundreds of small files. */
export class Pieces {
  readonly #size: number;
  #piece: Buffer;
  #filled = 0;
  #full: Buffer[] = [];

  constructor(size: number) {
    this.#size = size;
    this.#piece = Buffer.allocUnsafe(size);
  }

  /** The free part of the present piece. It is never empty. Say with `wrote` how much of it is used. */
  get room(): Buffer {
    return this.#piece.subarray(this.#filled);
  }

  /** Notes that the first bytes of `room` are written. */
  wrote(bytes: number): void {
    this.#filled += bytes;
    if (this.#filled < this.#size) return;
    this.#full.push(this.#piece);
    this.#piece = Buffer.allocUnsafe(this.#size);
    this.#filled = 0;
  }

  /** Adds a copy of bytes. */
  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const copied = bytes.copy(this.#piece, this.#filled, at);
      at += copied;
      this.wrote(copied);
    }
  }

  /** Takes the pieces that are full. */
  takeFull(): Buffer[] {
    if (this.#full.length === 0) return this.#full;
    const full = this.#full;
    this.#full = [];
    return full;
  }

  /** What has been added since the last full piece. */
  get rest(): Buffer {
    return this.#piece.subarray(0, this.#filled);
  }
}
