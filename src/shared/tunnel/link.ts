// How do two sides exchange bytes over connections that break (tunnels.md#offsets)?
import { Incoming, Outgoing, type Source } from "./channel.ts";
import { MAX_CHANNELS, type Progress, type TunnelAsk, type TunnelFrame } from "./frames.ts";

const NOTHING: Progress = { received: 0, used: 0 };

/**
 * The most channels that were reset here and of which the other side has not said that it knows. An honest
 * one begins no channel in place of another before it has heard of the reset, so it stays below.
 */
export const MAX_UNHEARD_RESETS = 2 * MAX_CHANNELS;

/** What a side does with what it hears. */
export interface LinkOptions {
  send(frame: TunnelFrame): void;
  /** Whether bytes may be sent now. If not, `pump` is called again once they may. Absent: always. */
  maySend?(): boolean;
  /** The other side goes on beginning channels although they are reset. The tunnel is to end. */
  excess?(): void;
  /** New bytes of a channel. They count as used once `used` is called. */
  data(channel: number, bytes: Uint8Array): void;
  /** No more bytes come on a channel. */
  end(channel: number): void;
  /** The bytes to send on a channel that the other side has begun; undefined: it may not begin one. */
  accept?(channel: number): Source | undefined;
  /** The other side has ended a channel at once. Absent: it may not. */
  reset?(channel: number): void;
  /** All that was to be sent on a channel has arrived. */
  delivered?(channel: number): void;
}

/**
 * One side of a tunnel. After each new connection both sides say how far they have heard, and go on from
 * there, so no byte is lost and none comes twice. Bytes are sent only while connected.
 */
export class Link {
  readonly #options: LinkOptions;
  readonly #out = new Map<number, Outgoing>();
  readonly #in = new Map<number, Incoming>();
  /** The highest channel that the other side has begun: a lower one that is unknown has been closed. */
  #highest = -1;
  /** The channels that were reset here, of which the other side may not know; if said on this connection. */
  readonly #resets = new Map<number, boolean>();
  #isConnected = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Opens a channel. `used`: what an earlier process has used of the other side's bytes. */
  open(channel: number, source: Source, used = 0): void {
    this.#highest = Math.max(this.#highest, channel);
    this.#out.set(channel, new Outgoing(source));
    this.#in.set(channel, new Incoming(used));
  }

  /** Opens a channel of which the other side knows nothing, and tells it. */
  begin(channel: number, source: Source): void {
    this.open(channel, source);
    this.#out.set(channel, new Outgoing(source, true));
    this.pump();
  }

  /** Ends a channel at once, in both directions. Bytes that are on their way are lost. */
  reset(channel: number): void {
    if (this.#drop(channel)) this.#sayReset(channel);
  }

  /** Greets the other side on a new connection. Nothing else is sent before its greeting. */
  greet(ask?: TunnelAsk): void {
    this.#isConnected = false;
    const channels = Object.fromEntries([...this.#in].map(([channel, { progress }]) => [channel, progress]));
    this.#options.send({ t: "hello", channels, ...(ask === undefined ? {} : { ask }) });
  }

  /** The connection has ended. */
  cut(): void {
    this.#isConnected = false;
  }

  /** Handles a frame about channels. Other frames change nothing. */
  heard(frame: TunnelFrame): void {
    switch (frame.t) {
      case "hello":
        for (const [channel, out] of this.#out) out.resume(frame.channels?.[channel] ?? NOTHING);
        this.#isConnected = true;
        this.#resumeResets(frame.channels ?? {});
        break;
      case "data":
        this.#heardData(frame.c, frame.at, bytesOf(frame.d));
        break;
      case "end":
        if (this.#incomingOf(frame.c)?.end(frame.at)) this.#options.end(frame.c);
        this.#confirm(frame.c, frame.at);
        break;
      case "reset":
        this.#heardReset(frame.c, frame.done === true);
        break;
      case "ack":
        this.#out.get(frame.c)?.acknowledge(frame.at);
        this.#forget(frame.c);
        break;
    }
    this.pump();
  }

  /** The bytes of a channel have been used. */
  used(channel: number, bytes: number): void {
    this.#in.get(channel)?.use(bytes);
    this.#confirm(channel);
  }

  /** Sends what is due: to be called when a source has grown or ended. */
  pump(): void {
    if (!this.#isConnected) return;
    for (const [channel, isSaid] of this.#resets) {
      if (isSaid) continue;
      if (!this.#maySend()) return;
      this.#resets.set(channel, true);
      this.#options.send({ t: "reset", c: channel });
    }
    for (const [channel, out] of this.#out) {
      while (out.isDue && this.#maySend()) {
        const due = out.next();
        if (due === undefined) break;
        this.#options.send(
          due.kind === "end"
            ? { t: "end", c: channel, at: due.at }
            : { t: "data", c: channel, at: due.at, d: textOf(due.bytes) },
        );
      }
    }
  }

  #maySend(): boolean {
    return this.#options.maySend?.() !== false;
  }

  #heardData(channel: number, at: number, bytes: Uint8Array): void {
    const incoming = this.#incomingOf(channel);
    const fresh = incoming?.accept(at, bytes) ?? new Uint8Array();
    if (fresh.length > 0) this.#options.data(channel, fresh);
    // Bytes of a channel that is closed here are confirmed, so that the other side can forget it, too. Of one
    // that was reset here it is told otherwise.
    if (incoming === undefined && !this.#resets.has(channel)) this.#confirm(channel, at + bytes.length);
  }

  /** The receiving half of a channel, which the other side may have begun with this frame. */
  #incomingOf(channel: number): Incoming | undefined {
    const known = this.#in.get(channel);
    const isNext = Number.isInteger(channel) && channel > this.#highest;
    if (known !== undefined || !isNext) return known;
    if (this.#in.size >= MAX_CHANNELS) {
      this.#highest = channel;
      this.#sayReset(channel);
      return undefined;
    }
    const source = this.#options.accept?.(channel);
    if (source !== undefined) this.open(channel, source);
    return this.#in.get(channel);
  }

  #heardReset(channel: number, isConfirmed: boolean): void {
    if (this.#options.reset === undefined || !Number.isInteger(channel)) return;
    // Whoever resets a channel knows that it is over.
    this.#resets.delete(channel);
    if (isConfirmed) return;
    if (this.#drop(channel)) this.#options.reset(channel);
    if (this.#isConnected) this.#options.send({ t: "reset", c: channel, done: true });
  }

  #sayReset(channel: number): void {
    const { excess } = this.#options;
    if (excess !== undefined && this.#resets.size >= MAX_UNHEARD_RESETS) {
      excess();
      return;
    }
    this.#resets.set(channel, false);
    this.pump();
  }

  /** All resets are said again. The side that begins the channels knows of those that it does not name. */
  #resumeResets(named: Record<number, Progress>): void {
    const isTold = this.#options.accept !== undefined;
    for (const channel of [...this.#resets.keys()]) {
      if (isTold && named[channel] === undefined) this.#resets.delete(channel);
      else this.#resets.set(channel, false);
    }
  }

  /** Forgets a channel, whatever is on its way. False: it was not known. */
  #drop(channel: number): boolean {
    this.#out.delete(channel);
    return this.#in.delete(channel);
  }

  #confirm(channel: number, unknownAt?: number): void {
    const incoming = this.#in.get(channel);
    const at = incoming === undefined ? unknownAt : incoming.ackDue();
    if (at !== undefined && this.#isConnected) this.#options.send({ t: "ack", c: channel, at });
    this.#forget(channel);
  }

  /** Forgets a channel on which both directions have ended. */
  #forget(channel: number): void {
    const out = this.#out.get(channel);
    if (out?.isDone !== true) return;
    this.#options.delivered?.(channel);
    if (this.#in.get(channel)?.isDone !== true) return;
    this.#out.delete(channel);
    this.#in.delete(channel);
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(String(text), "base64");
}
