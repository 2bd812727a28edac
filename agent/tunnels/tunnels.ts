// Which tunnels lead to this host, and when does each of them end (tunnels.md#life)?
import { readdirSync, rmSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../../disk/atomic.ts";
import { makePrivateDir, readIfThere } from "../../posix/files.ts";
import type { TunnelEnvelope, TunnelOpening } from "../../src/schema/host.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import {
  frameIn,
  type TunnelAsk,
  type TunnelFault,
  type TunnelFrame,
  type TunnelKind,
} from "../../src/shared/tunnel/frames.ts";
import { errorText } from "../../src/shared/words.ts";
import type { Inside } from "../exec/processes/inside.ts";
import { say } from "../say.ts";
import { TunnelCommand } from "./command.ts";
import { Tunnel } from "./tunnel.ts";
import { Turns } from "./turns.ts";

/** A tunnel ends if no client has been heard for this long. */
const AWAY_MS: Millis = 5 * 60_000;
const LOOK_MS: Millis = 10_000;
/** The most tunnels of one host. */
const MAX_TUNNELS = 64;
/** How long the id of a tunnel that has ended is remembered, so that its command never starts again. */
const REMEMBER_MS: Millis = 86_400_000;
const ATTEMPT_OVER = "the task's command has ended.";
const EXCESS = "its client goes on opening connections although they are refused.";
const CLIENT_AWAY = `no client was connected for ${AWAY_MS / 60_000} minutes.`;
/** The form of an id. It is the name of a directory, too. */
const ID = /^[a-z0-9-]{8,64}$/;

export interface TunnelsOptions {
  stateDir: string;
  now: () => Instant;
  shellReportsSignals: boolean;
  /** The place beside the main process of an attempt; undefined: it does not run here. */
  inside: (attempt: string) => Promise<Inside | undefined>;
  /** Whether the main process of an attempt runs, as far as is known. */
  isRunning: (attempt: string) => boolean;
}

/** What is stored of a tunnel that has begun. */
interface Begun {
  attempt: string;
  ask: TunnelAsk;
}

/**
 * The tunnels of this host. All frames come and go through the host's own socket. A tunnel that has begun has
 * a directory, from which the next start of the agent goes on.
 */
export class Tunnels {
  readonly #options: TunnelsOptions;
  readonly #root: string;
  readonly #over: string;
  readonly #tunnels = new Map<string, Tunnel>();
  readonly #turns: Turns;
  #send: ((text: string) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TunnelsOptions) {
    this.#options = options;
    this.#turns = new Turns(options.now, (id) => this.#tunnels.get(id)?.pump());
    this.#root = join(options.stateDir, "tunnels");
    this.#over = join(this.#root, "over");
    makePrivateDir(this.#root);
    makePrivateDir(this.#over);
    this.#prune();
    for (const id of readdirSync(this.#root).filter((name) => ID.test(name))) this.#adopt(id);
  }

  /** The socket is open: frames for clients go out by `send`. */
  connected(send: (text: string) => void): void {
    this.#send = send;
  }

  /** The socket is closed. The control plane says on the next one which clients are there. */
  cut(): void {
    this.#send = undefined;
    for (const tunnel of this.#tunnels.values()) tunnel.cut();
  }

  /** Handles a frame for a tunnel, or the news of its client. */
  heard(envelope: TunnelEnvelope | TunnelOpening): void {
    const { tunnel: id } = envelope;
    if (!ID.test(id)) return;
    if ("open" in envelope) {
      this.#open(id, envelope.open);
      return;
    }
    const frame = frameIn<TunnelFrame>(envelope.frame);
    if (frame?.t === "close") this.#end(id, "its client has closed it.");
    else if (frame !== undefined) this.#pass(id, frame);
  }

  /** Ends the tunnels of attempts whose commands have ended. */
  look(): void {
    for (const [id, { attempt }] of this.#tunnels) if (!this.#options.isRunning(attempt)) this.#fail(id);
  }

  #fail(id: string, code: TunnelFault = "not_running", why = ATTEMPT_OVER): void {
    this.#tunnels.get(id)?.fail(code, why);
    this.#end(id, why);
  }

  #pass(id: string, frame: TunnelFrame): void {
    const tunnel = this.#tunnels.get(id);
    tunnel
      ?.heard(frame, (ask) => this.#begin(id, { attempt: tunnel.attempt, ask }))
      .catch((error: unknown) => {
        tunnel.fail("lost", errorText(error));
      });
  }

  /** A client is connected: it greets next. */
  #open(id: string, { attempt, kind }: TunnelOpening["open"]): void {
    const known = this.#tunnels.get(id);
    // A task that was started again has another attempt.
    if (known !== undefined && known.attempt !== attempt) this.#fail(id);
    const fault = known === undefined ? this.#whyNot(id, attempt) : undefined;
    if (fault !== undefined) this.#say(id, { t: "fault", ...fault });
    else if (known !== undefined) known.cut();
    else {
      this.#tunnels.set(id, this.#newTunnel(id, attempt, kind));
      this.#watch();
    }
  }

  /** Why a new tunnel cannot lead to an attempt; undefined: it can. */
  #whyNot(id: string, attempt: string): { code: TunnelFault; text: string } | undefined {
    const over = readIfThere(join(this.#over, id));
    if (over !== undefined) return { code: "lost", text: `The tunnel has ended: ${over}` };
    if (this.#tunnels.size >= MAX_TUNNELS) {
      return {
        code: "busy",
        text: `${MAX_TUNNELS} tunnels lead to this machine, and more are not possible.`,
      };
    }
    if (this.#options.isRunning(attempt)) return undefined;
    return { code: "not_running", text: "The task's command does not run." };
  }

  #begin(id: string, begun: Begun): void {
    makePrivateDir(this.#dirOf(id));
    replaceFile(join(this.#dirOf(id), "begun.json"), JSON.stringify(begun));
  }

  #adopt(id: string): void {
    const text = readIfThere(join(this.#dirOf(id), "begun.json"));
    if (text === undefined) {
      void this.#remove(id);
      return;
    }
    // The file is the agent's own and is written atomically, so its content has the right type.
    const { attempt, ask } = JSON.parse(text) as Begun;
    // The client says again what it asks for, and then it begins.
    if (ask.kind === "exec" && TunnelCommand.retract(this.#dirOf(id), join(this.#root, ".retracted"))) return;
    const tunnel = this.#newTunnel(id, attempt, ask.kind);
    this.#tunnels.set(id, tunnel);
    tunnel.adopt(ask);
    this.#watch();
  }

  #newTunnel(id: string, attempt: string, kind: TunnelKind): Tunnel {
    const { now, shellReportsSignals, inside } = this.#options;
    return new Tunnel({
      id,
      dir: this.#dirOf(id),
      attempt,
      kind,
      now,
      shellReportsSignals,
      inside: () => inside(attempt),
      send: (frame) => this.#say(id, frame),
      maySend: () => this.#turns.maySend(id),
      excess: () => this.#fail(id, "busy", EXCESS),
    });
  }

  #say(id: string, frame: TunnelFrame): void {
    const text = JSON.stringify({ tunnel: id, frame: JSON.stringify(frame) });
    this.#turns.sent(text.length);
    this.#send?.(text);
  }

  /** Ends a tunnel. Its id stays known, so that a late frame does not begin it again. */
  #end(id: string, why: string): void {
    const tunnel = this.#tunnels.get(id);
    if (tunnel === undefined) return;
    this.#tunnels.delete(id);
    try {
      replaceFile(join(this.#over, id), why);
    } catch (error) {
      // A full disk must not end the agent. The tunnel ends all the same.
      say(`cannot note the end of tunnel ${id}: ${errorText(error)}`);
    }
    tunnel
      .close()
      .then(() => this.#remove(id))
      .catch((error: unknown) => say(`cannot end tunnel ${id}: ${errorText(error)}`));
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#endUnused(), LOOK_MS).unref();
  }

  #endUnused(): void {
    const before = this.#options.now() - AWAY_MS;
    for (const [id, { heardAt }] of this.#tunnels) if (heardAt < before) this.#end(id, CLIENT_AWAY);
    if (this.#tunnels.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #prune(): void {
    for (const name of readdirSync(this.#over)) {
      const file = join(this.#over, name);
      if (Date.now() - statSync(file).mtimeMs > REMEMBER_MS) rmSync(file);
    }
  }

  #remove(id: string): Promise<void> {
    return rm(this.#dirOf(id), { recursive: true, force: true, maxRetries: 3 });
  }

  #dirOf(id: string): string {
    return join(this.#root, id);
  }
}
