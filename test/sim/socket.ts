import type { SocketAttachment } from "../../src/core/worker/host/host-socket.ts";
import type { HostSocket } from "../../src/objects/host/host-socket-session.ts";
import type { HostFrame, Report } from "../../src/schema/host.ts";
import type { World } from "./world.ts";

/** What a host hears on its end. */
export interface HostEnd {
  frame(frame: HostFrame): void;
  /** Once. `code`: as the other side closed it, or 1006 if it broke. */
  closed(code: number): void;
}

const BROKEN = 1_006;
/** Until the control plane's side of a broken socket is gone. Often it never hears of it. */
const HALF_OPEN_MS = 120_000;
const LATENCY_MS = 50;

/**
 * A socket between a host and a worker's object, as the platform keeps it: it outlives the eviction of the
 * object, but not the death of its process. Frames arrive in order, or the socket breaks.
 */
export class SimSocket implements HostSocket {
  readonly #world: World;
  readonly #host: HostEnd;
  readonly #receive: (socket: SimSocket, report: Report) => void;
  readonly #bornAt: number;
  #note: SocketAttachment | null = null;
  #brokenAt: number | undefined;
  #goneAt = Number.POSITIVE_INFINITY;
  #readyAt = { host: 0, object: 0 };

  constructor(world: World, host: HostEnd, receive: (socket: SimSocket, report: Report) => void) {
    this.#world = world;
    this.#host = host;
    this.#receive = receive;
    this.#bornAt = world.now;
  }

  /** Whether the object's side knows nothing of its end. */
  get listed(): boolean {
    return this.#world.now < this.#goneAt;
  }

  /** The host says something. */
  report(report: Report): void {
    this.#deliver("object", () => this.#receive(this, report));
  }

  send(text: string): void {
    this.#deliver("host", () => this.#host.frame(JSON.parse(text)));
  }

  close(code: number): void {
    this.#goneAt = this.#world.now;
    this.#end(code, 1);
  }

  heardAt(): number {
    return this.#world.planeTime(this.#brokenAt ?? this.#world.now);
  }

  note(): SocketAttachment | null {
    return this.#note;
  }

  keep(note: SocketAttachment): void {
    this.#note = structuredClone(note);
  }

  /** The object's process has died, or somebody has cut the line: the host hears of it, sooner or later. */
  cut(): void {
    this.#goneAt = this.#world.now;
    this.#end(BROKEN, this.#world.chance.between(1, 1_000));
  }

  /** The host is gone, or has given it up: the object hears of that late. */
  abandon(): void {
    this.#brokenAt ??= this.#world.now;
    this.#goneAt = Math.min(this.#goneAt, this.#world.now + this.#world.chance.between(1, HALF_OPEN_MS));
  }

  #deliver(side: "host" | "object", arrive: () => void): void {
    if (this.#brokenAt !== undefined) return;
    if (this.#world.strikes("loss")) {
      this.#world.tell("network", `a socket of ${this.#world.now - this.#bornAt} ms breaks`);
      this.abandon();
      this.#end(BROKEN, this.#world.chance.between(1, HALF_OPEN_MS));
      return;
    }
    const slow = this.#world.strikes("delay") ? this.#world.chance.between(1_000, 10_000) : 0;
    const at = Math.max(
      this.#readyAt[side],
      this.#world.now + slow + this.#world.chance.between(1, LATENCY_MS),
    );
    this.#readyAt[side] = at;
    this.#world.time.at(at, () => {
      if (this.#brokenAt === undefined || this.#brokenAt > at) arrive();
    });
  }

  #end(code: number, afterMs: number): void {
    this.#brokenAt ??= this.#world.now;
    this.#world.time.after(afterMs, () => this.#host.closed(code));
  }
}
