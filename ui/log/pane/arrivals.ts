// When do bytes that arrive reach the document? Once per frame, however many pieces there are (ui.md#d14).
import { onFrame } from "../../store/frame.ts";
import { joined } from "../bytes/joined.ts";

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
