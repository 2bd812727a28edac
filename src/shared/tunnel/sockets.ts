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
  /** Tells the other end that this is no clean end. Absent: the stream has no such end. */
  resetAndDestroy?(): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** What becomes of the connections of one side. */
export interface SocketEvents {
  /** A connection has said more, or says no more. */
  changed(): void;
  /** A connection has taken bytes of a channel. */
  used(channel: number, bytes: number): void;
  /** A connection is over, and was not before both sides had ended it: by a reset, or without a server. */
  broken(channel: number): void;
}

/** A connection, and whether the other side has said all that it has to say. */
interface Open {
  socket: Connection;
  isEnded: boolean;
}

/** The bytes of a connection that may wait for the other side before its sender is made to wait. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** The connections of one side, by channel. */
export class Sockets {
  readonly #open = new Map<number, Open>();
  readonly #events: SocketEvents;

  constructor(events: SocketEvents) {
    this.#events = events;
  }

  get size(): number {
    return this.#open.size;
  }

  /** What a connection says, as the source of its channel. */
  attach(channel: number, socket: Connection): Source {
    const said = new Said(socket);
    const open: Open = { socket, isEnded: false };
    this.#open.set(channel, open);
    socket.on("data", (bytes) => {
      said.push(bytes);
      this.#events.changed();
    });
    socket.once("end", () => {
      said.hasEnded = true;
      this.#events.changed();
    });
    // Its close follows, and is what counts.
    socket.once("error", () => undefined);
    socket.once("close", () => {
      // A connection that was reset or closed from here is known to be over.
      if (!this.#open.delete(channel) || (said.hasEnded && open.isEnded)) return;
      this.#events.broken(channel);
    });
    return said;
  }

  /** Passes bytes of a channel on to its connection. */
  write(channel: number, bytes: Uint8Array): void {
    const used = () => this.#events.used(channel, bytes.length);
    const socket = this.#open.get(channel)?.socket;
    // What a connection does not want any more is taken, so that its sender is not kept waiting.
    if (socket === undefined || socket.destroyed) used();
    else socket.write(bytes, used);
  }

  /** Nothing more comes on a channel. */
  end(channel: number): void {
    const open = this.#open.get(channel);
    if (open === undefined) return;
    open.isEnded = true;
    open.socket.end();
  }

  /** The other side has ended a channel at once. */
  reset(channel: number): void {
    const socket = this.#open.get(channel)?.socket;
    this.#open.delete(channel);
    if (socket !== undefined) resetConnection(socket);
  }

  close(): void {
    const all = [...this.#open.values()];
    this.#open.clear();
    for (const { socket } of all) socket.destroy();
  }
}

/** Ends a connection so that its other end sees a reset, and not the end of what it was to read. */
export function resetConnection(socket: Connection): void {
  if (socket.resetAndDestroy === undefined) socket.destroy();
  else socket.resetAndDestroy();
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
