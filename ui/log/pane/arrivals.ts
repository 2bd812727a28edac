// When do bytes that arrive reach the document? Once per frame, however many pieces there are (ui.md#d14).
import { onFrame } from "../../store/frame.ts";

/** More bytes than this wait for nothing: the reader of the stream waits for the frame. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;

/** Bytes of one stretch that wait for the next frame. */
export class Arrivals {
  readonly #apply: (at: number, bytes: Uint8Array) => void;
  #pieces: Uint8Array[] = [];
  #at = 0;
  #bytes = 0;
  #flushed: Promise<void> = Promise.resolve();

  /** `apply` gets all bytes of a frame at once. */
  constructor(apply: (at: number, bytes: Uint8Array) => void) {
    this.#apply = apply;
  }

  /** Adds bytes that join those before. Resolves when the next ones may come. */
  async add(at: number, bytes: Uint8Array): Promise<void> {
    if (this.#pieces.length === 0) {
      this.#at = at;
      this.#flushed = new Promise((done) => {
        onFrame(() => {
          this.#flush();
          done();
        });
      });
    }
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_QUEUED_BYTES) await this.#flushed;
  }

  /** Resolves when all bytes have been applied. */
  async empty(): Promise<void> {
    await this.#flushed;
  }

  #flush(): void {
    const bytes = joined(this.#pieces, this.#bytes);
    this.#pieces = [];
    this.#bytes = 0;
    this.#apply(this.#at, bytes);
  }
}

/** Pieces as one, of so many bytes. */
export function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = pieces;
  if (only !== undefined && pieces.length === 1) return only;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
