// How does the client keep a tunnel over connections that break (tunnels.md#life)?
import {
  frameIn,
  type RelayFrame,
  type TunnelAsk,
  type TunnelFrame,
} from "../../src/shared/tunnel/frames.ts";
import { ONE_CLIENT_UNITS, unitsOfFrame } from "../../src/shared/tunnel/host-units.ts";
import { Link, type LinkOptions } from "../../src/shared/tunnel/link.ts";
import { afterFrame, fullTunnelPace, waitOf } from "../../src/shared/tunnel/pace.ts";
import { ApiError, UnreachableError } from "../errors.ts";
import { type CallOptions, pause, type Target } from "../transport/http.ts";
import { callOf } from "../transport/operations.ts";
import { type Patience, patienceOf, retryDelayMs } from "../transport/retry.ts";
import { openTunnelSocket, type TunnelSocket } from "./socket.ts";

/** The code with which a newer client of the same tunnel replaces this one. */
const REPLACED = 4_429;
/** The code with which a frame that is too large ends a connection. */
const TOO_LARGE = 4_413;
/** How often the host is told that its client is there, although it has nothing to say. */
const HERE_MS = 60_000;
/** How long a tunnel goes on without a connection, unless the caller says otherwise. */
const PATIENCE: Patience = { unreachableMs: 120_000, busyMs: 120_000 };

export interface TunnelOptions extends Omit<CallOptions, "waitMs"> {
  /** Default: the task that gives the run its result. */
  task?: string | undefined;
  /** Called when the tunnel waits for the host, and when it goes on. */
  connected?: ((isConnected: boolean) => void) | undefined;
}

/** How a tunnel has ended: the command's exit, or a fault of which the tunnel tells. */
export type TunnelEnd = Extract<TunnelFrame, { t: "exit" | "fault" }>;

/**
 * A tunnel into a run. After a lost connection it is opened again under the same id, and goes on where it
 * was. `ended` rejects with an `ApiError` if the tunnel is refused, or with an `UnreachableError` after all
 * patience.
 */
export class Tunnel {
  readonly ended: Promise<TunnelEnd>;
  readonly #target: Target;
  readonly #run: string;
  readonly #ask: TunnelAsk;
  readonly #options: TunnelOptions;
  readonly #id = crypto.randomUUID();
  readonly #link: Link;
  readonly #signals: Extract<TunnelFrame, { t: "signal" }>[] = [];
  #size: Extract<TunnelFrame, { t: "size" }> | undefined;
  #socket: TunnelSocket | undefined;
  #pace = fullTunnelPace(ONE_CLIENT_UNITS, performance.now());
  #pumpLater: NodeJS.Timeout | undefined;
  readonly #here = setInterval(() => this.#send({ t: "here" }), HERE_MS).unref();
  /** The host has greeted on this connection. */
  #isGreeted = false;
  /** The host has greeted on this connection or, in between, on the last one. */
  #hasHeard = false;
  #isClosed = false;
  #settle!: { resolve: (end: TunnelEnd) => void; reject: (error: unknown) => void };

  constructor(
    target: Target,
    run: string,
    ask: TunnelAsk,
    link: Omit<LinkOptions, "send" | "maySend">,
    options: TunnelOptions,
  ) {
    this.#target = target;
    this.#run = run;
    this.#ask = ask;
    this.#options = options;
    this.#link = new Link({ ...link, send: (frame) => this.#send(frame), maySend: () => this.#maySend() });
    this.ended = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // Whoever only closes the tunnel need not look how it has ended.
    this.ended.catch(() => undefined);
    options.signal?.addEventListener("abort", () => this.fail(options.signal?.reason), { once: true });
  }

  get link(): Link {
    return this.#link;
  }

  /** Connects, and goes on connecting until the tunnel has ended. */
  async start(): Promise<void> {
    const { signal } = this.#options;
    const patience = patienceOf(PATIENCE, this.#options.patience);
    let failedAt: number | undefined;
    for (let tries = 1; !this.#isClosed; tries += 1) {
      try {
        signal?.throwIfAborted();
        const { closed } = await this.#connect();
        const code = await closed;
        if (code === REPLACED) throw new Error("another client has taken this tunnel over");
        if (code === TOO_LARGE) throw new Error("a message of this tunnel is too large for Drover");
        // A connection on which the host has not answered is a failed try.
        if (!this.#hasHeard) throw new UnreachableError(this.#target.url, new Error("the connection broke"));
        this.#hasHeard = false;
        failedAt = undefined;
        tries = 0;
      } catch (error) {
        if (this.#isClosed) return;
        failedAt ??= performance.now();
        const delayMs = retryDelayMs(error, tries, performance.now() - failedAt, patience);
        if (delayMs === undefined) return this.fail(error);
        await pause(delayMs, signal).catch((reason: unknown) => this.fail(reason));
      }
    }
  }

  /** Tells the size of the terminal. */
  resize(rows: number, columns: number): void {
    this.#size = { t: "size", rows, columns };
    if (this.#isGreeted) this.#send(this.#size);
  }

  signal(signal: Extract<TunnelFrame, { t: "signal" }>["signal"]): void {
    this.#signals.push({ t: "signal", n: this.#signals.length + 1, signal });
    if (this.#isGreeted) this.#sendState();
  }

  /** Ends the tunnel, and what it leads to. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#here);
    clearTimeout(this.#pumpLater);
    this.#link.cut();
    this.#send({ t: "close" });
    this.#socket?.close();
  }

  /** Opens one connection. `closed` resolves with the code with which it has been closed. */
  async #connect(): Promise<{ closed: Promise<number> }> {
    const { kind } = this.#ask;
    let resolve: (code: number) => void = () => undefined;
    const closed = new Promise<number>((settle) => {
      resolve = settle;
    });
    const input = { path: { id: this.#run, tunnel: this.#id }, query: { kind, task: this.#options.task } };
    this.#socket = await openTunnelSocket(this.#target, callOf("openTunnel", input), {
      frame: (text) => this.#heard(text),
      closed: (code) => {
        this.#disconnected();
        resolve(code);
      },
    });
    if (this.#isClosed) {
      this.#send({ t: "close" });
      this.#socket.close();
    } else this.#socket.listen();
    return { closed };
  }

  #disconnected(): void {
    this.#socket = undefined;
    this.#isGreeted = false;
    this.#link.cut();
    this.#options.connected?.(false);
  }

  #heard(text: string): void {
    const frame = frameIn<TunnelFrame | RelayFrame>(text);
    if (frame === undefined || this.#isClosed) return;
    switch (frame.t) {
      case "host":
        this.#isGreeted = false;
        if (frame.connected) this.#link.greet(this.#ask);
        else this.#options.connected?.(false);
        break;
      case "hello":
        this.#isGreeted = true;
        this.#hasHeard = true;
        this.#link.heard(frame);
        this.#sendState();
        this.#options.connected?.(true);
        break;
      case "exit":
      case "fault":
        this.#settle.resolve(frame);
        this.close();
        break;
      default:
        this.#link.heard(frame);
    }
  }

  /** What the host must know, however often it is told. */
  #sendState(): void {
    if (this.#size !== undefined) this.#send(this.#size);
    for (const signal of this.#signals) this.#send(signal);
  }

  /** Whether bytes may be sent now. Beyond its pace, Drover would cut this client off (tunnels.md#pace). */
  #maySend(): boolean {
    const waitMs = waitOf(this.#pace, performance.now());
    if (waitMs === 0) return true;
    this.#pumpLater ??= setTimeout(() => {
      this.#pumpLater = undefined;
      this.#link.pump();
    }, waitMs);
    return false;
  }

  #send(frame: TunnelFrame): void {
    if (this.#socket === undefined) return;
    this.#pace = afterFrame(this.#pace, unitsOfFrame(0), performance.now());
    this.#socket.send(JSON.stringify(frame));
  }

  /** Ends the tunnel for a reason of the client. */
  fail(error: unknown): void {
    this.#settle.reject(error);
    this.close();
  }
}

/** The error for a tunnel that has led nowhere, or was lost. */
export function errorOfFault({ code, text }: Extract<TunnelEnd, { t: "fault" }>): ApiError {
  const temporary = code === "busy";
  const known =
    code === "invalid_request" || code === "not_running" || code === "busy" ? code : "tunnel_ended";
  return new ApiError({ status: 409, code: known, temporary, detail: text });
}
