// How do TCP connections become channels of a tunnel, at either end (tunnels.md#forward)?
import { Pieces, type Source } from "./channel.ts";

/** The part of a stream of Node that is needed here. */
export interface Connection {
  readonly destroyed: boolean;
  on(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  once(event: "end" | "error" | "close", listener: () => void): unknown;
  write(bytes: Uint8Array, done: () => void): unknown;
  end(): unknown;
  destroy(): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** The bytes of a connection that may wait for the other side before its sender is made to wait. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** The connections of one side, by channel. */
export class Sockets {
  readonly #sockets = new Map<number, Connection>();
  readonly #changed: () => void;
  readonly #used: (channel: number, bytes: number) => void;

  /** `changed`: a connection has said more, or has ended. `used`: it has taken bytes of a channel. */
  constructor(changed: () => void, used: (channel: number, bytes: number) => void) {
    this.#changed = changed;
    this.#used = used;
  }

  get size(): number {
    return this.#sockets.size;
  }

  /** What a connection says, as the source of its channel. */
  attach(channel: number, socket: Connection): Source {
    const said = new Said(socket);
    this.#sockets.set(channel, socket);
    const over = () => {
      said.hasEnded = true;
      this.#changed();
    };
    socket.on("data", (bytes) => {
      said.push(bytes);
      this.#changed();
    });
    socket.once("end", over);
    socket.once("error", over);
    socket.once("close", () => {
      this.#sockets.delete(channel);
      over();
    });
    return said;
  }

  /** Passes bytes of a channel on to its connection. */
  write(channel: number, bytes: Uint8Array): void {
    const used = () => this.#used(channel, bytes.length);
    const socket = this.#sockets.get(channel);
    // What a connection does not want any more is taken, so that its sender is not kept waiting.
    if (socket === undefined || socket.destroyed) used();
    else socket.write(bytes, used);
  }

  /** Nothing more comes on a channel. */
  end(channel: number): void {
    this.#sockets.get(channel)?.end();
  }

  close(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }
}

/** What a connection has said. It is made to wait while much of that waits to be sent. */
class Said extends Pieces {
  readonly #socket: Connection;
  #taken = 0;

  constructor(socket: Connection) {
    super();
    this.#socket = socket;
  }

  override push(bytes: Uint8Array): void {
    super.push(bytes);
    if (this.size - this.#taken > MAX_WAITING_BYTES) this.#socket.pause();
  }

  override drop(upTo: number): void {
    super.drop(upTo);
    this.#taken = upTo;
    if (this.size - upTo <= MAX_WAITING_BYTES / 2) this.#socket.resume();
  }
}
