// Do a host and the clients of its tunnels send too much?
import {
  chargeCall,
  chargeExtra,
  fullPace,
  type Pace,
  UNITS_OF_A_START,
  unitsOf,
} from "../../core/worker/host/pace.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import { CLIENT_UNITS, unitsOfFrame } from "../../shared/tunnel/host-units.ts";
import type { WorkerActor } from "./exchange.ts";

/**
 * Limits the rate of a worker's host, as far as this process remembers. A call is charged after it is
 * verified, so that nobody else can use up the host's units, and before it is parsed, since parsing is most
 * of the work.
 */
export class HostPace {
  readonly #actor: WorkerActor;
  readonly #now: () => Instant;
  #pace: Pace;
  #clients: Pace;
  #spent = 0;

  constructor(actor: WorkerActor, now: () => Instant) {
    this.#actor = actor;
    this.#now = now;
    this.#pace = fullPace(now());
    this.#clients = fullPace(now(), CLIENT_UNITS);
  }

  /** Charges a report of this many bytes. Throws `busy` if the host must wait. */
  report(bytes: number): void {
    this.#take(unitsOf(bytes));
  }

  /** Charges a log chunk or a snapshot, whose bytes go elsewhere and do not count. */
  bytes(): void {
    this.#take(unitsOf(0));
  }

  /** Charges a frame that is only passed on. Throws `busy` if the host must wait. */
  frame(bytes: number): void {
    this.#take(unitsOfFrame(bytes));
  }

  /**
   * Charges the clients for a frame to this host, which it may have to answer at once (tunnels.md#pace). How
   * long they must wait; 0: the frame may be passed on.
   */
  clientFrame(): Millis {
    const { pace, waitMs } = chargeCall(this.#clients, unitsOfFrame(0), this.#now(), CLIENT_UNITS);
    this.#clients = pace;
    return waitMs;
  }

  /** Charges a start of the agent, or a socket. */
  start(): void {
    this.#take(UNITS_OF_A_START);
  }

  #take(units: number): void {
    const { spent } = this.#actor.state.memo;
    // `spent` starts again at 0 when the worker is loaded again.
    this.#pace = chargeExtra(this.#pace, Math.max(0, spent - this.#spent));
    this.#spent = spent;
    const { pace, waitMs } = chargeCall(this.#pace, units, this.#now());
    this.#pace = pace;
    if (waitMs > 0) throw tooFast(waitMs);
  }
}

function tooFast(retryAfterMs: Millis): DroverError {
  const text = "this host sends more than one machine may send; try again later";
  return new DroverError("busy", text, { retryAfterMs });
}
