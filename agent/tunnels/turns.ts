// Which tunnel sends next, so that all together keep the pace of the host's socket (tunnels.md#pace)?
import type { Instant, Millis } from "../../src/shared/machine.ts";
import { TUNNEL_UNITS, unitsOfFrame } from "../../src/shared/tunnel/host-units.ts";
import { afterFrame, fullTunnelPace, type TunnelPace, waitOf } from "../../src/shared/tunnel/pace.ts";

/** Lets tunnels send while the pace allows, and those that it has held back in turns. */
export class Turns {
  readonly #now: () => Instant;
  readonly #pump: (id: string) => void;
  /** The tunnels that have bytes to send, in their order. */
  readonly #held = new Set<string>();
  /** The tunnel whose turn it is. */
  #turn: string | undefined;
  #pace: TunnelPace;
  #timer: NodeJS.Timeout | undefined;

  /** `pump`: lets a tunnel send what it has, if there still is one of this id. */
  constructor(now: () => Instant, pump: (id: string) => void) {
    this.#now = now;
    this.#pump = pump;
    this.#pace = fullTunnelPace(TUNNEL_UNITS, now());
  }

  /** Whether a tunnel may send bytes now. If not, it is pumped once it may, behind those that wait. */
  maySend(id: string): boolean {
    const isNext = this.#held.size === 0 || this.#turn === id;
    if (isNext && this.#waitMs === 0) return true;
    this.#held.add(id);
    this.#wait();
    return false;
  }

  /** A frame with this many characters has been sent. */
  sent(chars: number): void {
    this.#pace = afterFrame(this.#pace, unitsOfFrame(chars), this.#now());
  }

  get #waitMs(): Millis {
    return waitOf(this.#pace, this.#now());
  }

  #wait(): void {
    this.#timer ??= setTimeout(() => this.#go(), this.#waitMs).unref();
  }

  /** Each goes behind the others once it is held back again. */
  #go(): void {
    this.#timer = undefined;
    for (const id of [...this.#held]) {
      if (this.#waitMs > 0) break;
      this.#held.delete(id);
      this.#turn = id;
      this.#pump(id);
    }
    this.#turn = undefined;
    if (this.#held.size > 0) this.#wait();
  }
}
