// Which bytes of one channel must be sent, and which have arrived (tunnels.md#offsets)?
import { DATA_BYTES, type Progress, WINDOW_BYTES } from "./frames.ts";

/** Bytes to send, by offset. Bytes that were dropped are not read again. */
export interface Source {
  /** How many bytes there are so far. */
  readonly size: number;
  /** Nothing follows after `size`. */
  readonly hasEnded: boolean;
  read(from: number, bytes: number): Uint8Array;
  /** The other side has all bytes before `upTo`. */
  drop(upTo: number): void;
}

/** Bytes in memory that wait to be sent. */
export class Pieces implements Source {
  #pieces: Uint8Array[] = [];
  #from = 0;
  size = 0;
  hasEnded = false;

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#pieces.push(bytes);
    this.size += bytes.length;
  }

  /** The bytes from `from` on that lie in one piece. */
  read(from: number, bytes: number): Uint8Array {
    let at = this.#from;
    for (const piece of this.#pieces) {
      if (from < at + piece.length) return piece.subarray(from - at, from - at + bytes);
      at += piece.length;
    }
    return new Uint8Array();
  }

  drop(upTo: number): void {
    for (;;) {
      const first = this.#pieces[0];
      if (first === undefined || this.#from + first.length > upTo) return;
      this.#from += first.length;
      this.#pieces.shift();
    }
  }
}

/** What is due on a channel: bytes, or the news that it has ended. */
export type Due = { kind: "data"; at: number; bytes: Uint8Array } | { kind: "end"; at: number };

/** The sending half of a channel: at most `WINDOW_BYTES` are on their way. */
export class Outgoing {
  readonly source: Source;
  #sent = 0;
  #acked = 0;
  #endSent = false;
  #endAcked = false;
  /** The other side must still be told of the channel, even if there is nothing to send. */
  #isNew: boolean;
  readonly #announces: boolean;

  /** `announces`: the other side does not know of the channel. */
  constructor(source: Source, announces = false) {
    this.source = source;
    this.#announces = announces;
    this.#isNew = announces;
  }

  /** The other side has all bytes, and knows that no more follow. */
  get isDone(): boolean {
    return this.#endAcked;
  }

  /** Whether there is something to send. */
  get isDue(): boolean {
    return this.#isNew || this.#most > 0 || this.#isEndDue;
  }

  /** The most bytes that may be sent next. */
  get #most(): number {
    return Math.min(DATA_BYTES, this.#acked + WINDOW_BYTES - this.#sent, this.source.size - this.#sent);
  }

  get #isEndDue(): boolean {
    return this.source.hasEnded && this.#sent >= this.source.size && !this.#endSent;
  }

  /** The next bytes to send; undefined: none are due. */
  next(): Due | undefined {
    const { source } = this;
    if (this.#isNew) {
      this.#isNew = false;
      return { kind: "data", at: this.#sent, bytes: new Uint8Array() };
    }
    const most = this.#most;
    if (most > 0) {
      const at = this.#sent;
      const bytes = source.read(at, most);
      if (bytes.length === 0) return undefined;
      this.#sent += bytes.length;
      return { kind: "data", at, bytes };
    }
    if (!this.#isEndDue) return undefined;
    this.#endSent = true;
    return { kind: "end", at: this.#sent };
  }

  /** The other side has all bytes before `at`. `at` beyond what was sent is ignored. */
  acknowledge(at: number): void {
    if (!(at >= this.#acked && at <= this.#sent)) return;
    this.#acked = at;
    this.source.drop(at);
    if (this.#endSent && at === this.source.size) this.#endAcked = true;
  }

  /** A new connection: the other side has used bytes up to `used`, and has all bytes before `received`. */
  resume({ received, used }: Progress): void {
    const from = Number.isInteger(received) ? Math.max(received, this.#acked) : this.#acked;
    this.#sent = Math.min(from, this.source.size);
    this.#endSent = false;
    this.#isNew = this.#announces && this.#sent === 0;
    this.acknowledge(used);
  }
}

/** A confirmation is sent for at least this many bytes, and for the end. */
const ACK_EVERY_BYTES = WINDOW_BYTES / 4;

/** The receiving half of a channel. */
export class Incoming {
  #received: number;
  #used: number;
  #acked: number;
  #hasEnded = false;
  #endAcked = false;

  /** `used`: the bytes that an earlier process has used. */
  constructor(used = 0) {
    this.#received = used;
    this.#used = used;
    this.#acked = used;
  }

  get progress(): Progress {
    return { received: this.#received, used: this.#used };
  }

  /** All bytes have been used, and the other side was told. */
  get isDone(): boolean {
    return this.#endAcked;
  }

  /**
   * The part of the bytes that is new. Empty: they have arrived before, bytes before them are missing, or
   * they are more than an honest sender sends before earlier ones have been used.
   */
  accept(at: number, bytes: Uint8Array): Uint8Array {
    if (!(at >= 0 && at <= this.#received) || this.#hasEnded) return new Uint8Array();
    const most = this.#used + WINDOW_BYTES - at;
    const fresh = bytes.subarray(Math.min(bytes.length, this.#received - at), Math.max(0, most));
    this.#received += fresh.length;
    return fresh;
  }

  /** The other side sends nothing after byte `at`. Whether this is news. */
  end(at: number): boolean {
    if (at !== this.#received) return false;
    const isNews = !this.#hasEnded;
    this.#hasEnded = true;
    this.#endAcked = false; // if this is a repetition, the confirmation was lost
    return isNews;
  }

  /** This many bytes more have been used, so that as many more may come. */
  use(bytes: number): void {
    this.#used += bytes;
  }

  /** The offset to confirm now; undefined: not yet. */
  ackDue(): number | undefined {
    const isAll = this.#hasEnded && this.#used === this.#received;
    if (isAll ? this.#endAcked : this.#used - this.#acked < ACK_EVERY_BYTES) return undefined;
    this.#endAcked = isAll;
    this.#acked = this.#used;
    return this.#used;
  }
}
