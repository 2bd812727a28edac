// What does the host's end of one tunnel do (tunnels.md)?
import { connect } from "node:net";
import type { Instant } from "../../src/shared/machine.ts";
import { SIGNALS } from "../../src/shared/signals.ts";
import type { Source } from "../../src/shared/tunnel/channel.ts";
import {
  type ForwardAsk,
  faultOfAsk,
  faultOfSize,
  type TunnelAsk,
  type TunnelFault,
  type TunnelFrame,
  type TunnelKind,
} from "../../src/shared/tunnel/frames.ts";
import { Link } from "../../src/shared/tunnel/link.ts";
import { Sockets } from "../../src/shared/tunnel/sockets.ts";
import { errorText } from "../../src/shared/words.ts";
import { LOCALHOST } from "../drivers/driver.ts";
import type { Inside } from "../exec/processes/inside.ts";
import { type CommandOptions, TunnelCommand } from "./command.ts";
import { Soon } from "./soon.ts";

const NO_NETWORK = "The container has no network, so no port of it can be reached.";

/** The channel of input and output, and that of the errors. */
const MAIN = 0;
const ERRORS = 1;

export interface TunnelOptions extends Omit<CommandOptions, "changed" | "used"> {
  /** The attempt in which the tunnel ends. */
  attempt: string;
  /** What the client may ask for. */
  kind: TunnelKind;
  /** Starts something beside the main process of the attempt. False: there is no such place. */
  enter: (start: (inside: Inside) => Promise<void>) => Promise<boolean>;
  send: (frame: TunnelFrame) => void;
  /** Whether bytes may be sent now. If not, `pump` is called once they may. */
  maySend: () => boolean;
  /** The client goes on opening channels that are reset. The tunnel is to end. */
  excess: () => void;
}

/**
 * The host's end of a tunnel. It starts what the client asks for once, and keeps it while connections come
 * and go, until the client closes the tunnel, the attempt ends, or the client stays away.
 */
export class Tunnel {
  readonly attempt: string;
  /** When a client was heard last. */
  heardAt: Instant;
  readonly #options: TunnelOptions;
  readonly #link: Link;
  #command: TunnelCommand | undefined;
  /** The port to which the tunnel leads, and its connections. */
  #forward: { host: string; port: number; sockets: Sockets } | undefined;
  #fault: { code: TunnelFault; text: string } | undefined;
  #starting: Promise<void> | undefined;
  #isConnected = false;
  /** The client has greeted on this connection. More greetings are no news. */
  #isGreeted = false;
  readonly #soon = new Soon(() => this.#link.pump());
  /** The channels whose bytes have all arrived. */
  readonly #delivered = new Set<number>();

  constructor(options: TunnelOptions) {
    this.attempt = options.attempt;
    this.heardAt = options.now();
    this.#options = options;
    this.#link = new Link({
      send: options.send,
      maySend: options.maySend,
      excess: options.excess,
      data: (channel, bytes) => {
        if (channel === MAIN && this.#command !== undefined) this.#command.write(bytes);
        else if (this.#forward !== undefined) this.#forward.sockets.write(channel, bytes);
        else this.#link.used(channel, bytes.length);
      },
      end: (channel) => {
        if (channel === MAIN) this.#command?.endInput();
        this.#forward?.sockets.end(channel);
      },
      accept: (channel) => this.#connection(channel),
      reset: (channel) => this.#forward?.sockets.reset(channel),
      delivered: (channel) => {
        this.#delivered.add(channel);
        this.#sayEnd();
      },
    });
  }

  /** Goes on with what an earlier start of the agent has begun. What cannot go on is `lost`. */
  adopt(ask: TunnelAsk): void {
    // Its connections have ended with the process that had them.
    if (ask.kind === "forward") this.fail("lost", "The agent of the machine was started again.");
    else {
      this.#command = TunnelCommand.adopt(this.#commandOptions());
      if (this.#command === undefined) this.fail("lost", "What has become of the command is not known.");
      else this.#openCommand(this.#command, TunnelCommand.inputBefore(this.#options.dir));
    }
  }

  /** Handles a frame of the client. */
  async heard(frame: TunnelFrame, begin: (ask: TunnelAsk) => void): Promise<void> {
    this.heardAt = this.#options.now();
    if (frame.t === "hello") {
      if (this.#isGreeted && (frame.ask === undefined || !this.#mayBegin)) return;
      this.#isGreeted = true;
      if (frame.ask !== undefined) await this.#begin(frame.ask, begin);
      this.#isConnected = true;
      this.#link.greet();
      this.#link.heard(frame);
      this.#sayEnd();
      return;
    }
    if (frame.t === "size" && faultOfSize(frame) === undefined) await this.#command?.resize(frame);
    else if (frame.t === "signal") this.#signal(frame);
    else this.#link.heard(frame);
  }

  /** Sends what is due. */
  pump(): void {
    this.#link.pump();
  }

  /** The connection to the client is cut. */
  cut(): void {
    this.#isConnected = false;
    this.#isGreeted = false;
    this.#link.cut();
  }

  /** Ends the tunnel for a reason that the client is told. */
  fail(code: TunnelFault, text: string): void {
    this.#fault ??= { code, text };
    this.#sayEnd();
  }

  /** Ends all that belongs to the tunnel. */
  async close(): Promise<void> {
    await this.#starting;
    this.#forward?.sockets.close();
    await this.#command?.close();
  }

  /** Whether the tunnel leads nowhere yet, and has not begun to. */
  get #mayBegin(): boolean {
    return this.#command === undefined && this.#starting === undefined && this.#fault === undefined;
  }

  async #begin(ask: TunnelAsk, begin: (ask: TunnelAsk) => void): Promise<void> {
    if (this.#mayBegin) this.#starting = this.#start(ask, begin);
    await this.#starting;
  }

  async #start(ask: TunnelAsk, begin: (ask: TunnelAsk) => void): Promise<void> {
    const isOther = ask.kind !== this.#options.kind;
    const wrong = isOther ? "The tunnel was opened for something else." : faultOfAsk(ask);
    if (wrong !== undefined) return this.fail("invalid_request", wrong);
    const isThere = await this.#options.enter(async (inside) => {
      try {
        begin(ask);
        if (ask.kind === "forward" && inside.address === null) this.fail("start_failed", NO_NETWORK);
        else if (ask.kind === "forward") this.#forward = this.#newForward(ask, inside);
        else {
          this.#command = await TunnelCommand.start(this.#commandOptions(), ask, inside);
          this.#openCommand(this.#command, 0);
        }
      } catch (error) {
        this.fail("start_failed", `The command could not be started: ${errorText(error)}`);
      }
    });
    if (!isThere) this.fail("not_running", "The task's command does not run.");
  }

  #commandOptions(): CommandOptions {
    return {
      ...this.#options,
      changed: () => this.#changed(),
      used: (bytes) => this.#link.used(MAIN, bytes),
    };
  }

  #openCommand(command: TunnelCommand, inputBefore: number): void {
    this.#link.open(MAIN, command.stdout, inputBefore);
    this.#link.open(ERRORS, command.stderr);
  }

  #newForward({ port }: ForwardAsk, { address }: Inside) {
    const host = address ?? LOCALHOST;
    const sockets = new Sockets({
      changed: () => this.#soon.call(),
      used: (channel, bytes) => this.#link.used(channel, bytes),
      broken: (channel) => this.#link.reset(channel),
    });
    return { host, port, sockets };
  }

  /** Connects a new channel to the port. If nothing listens there, the channel is reset. */
  #connection(channel: number): Source | undefined {
    if (this.#forward === undefined) return undefined;
    const { host, port, sockets } = this.#forward;
    return sockets.attach(channel, connect({ host, port, allowHalfOpen: true }));
  }

  #changed(): void {
    this.#link.pump();
    this.#sayEnd();
  }

  #signal({ n, signal }: Extract<TunnelFrame, { t: "signal" }>): void {
    if (Number.isInteger(n) && SIGNALS.includes(signal)) this.#command?.signal(signal, n);
  }

  /** Says how it has ended, once all of the output has arrived. */
  #sayEnd(): void {
    const frame = this.#isConnected ? this.#endFrame() : undefined;
    if (frame !== undefined) this.#options.send(frame);
  }

  #endFrame(): TunnelFrame | undefined {
    if (this.#fault !== undefined) return { t: "fault", ...this.#fault };
    const end = this.#command?.end;
    if (end === undefined || ![MAIN, ERRORS].every((channel) => this.#delivered.has(channel)))
      return undefined;
    if ("startError" in end) return { t: "fault", code: "start_failed", text: end.startError };
    if (end.exit !== null) return { t: "exit", code: end.exit.code, signal: end.exit.signal };
    return { t: "fault", code: "lost", text: "How the command ended is not known." };
  }
}
