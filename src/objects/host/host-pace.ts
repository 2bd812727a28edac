import { charged, type Pace, paced, restedPace, unitsOf } from "../../core/worker/host/pace.ts";
import { DroverError } from "../../shared/errors.ts";
import { UNITS_OF_A_START } from "../../shared/limits.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { WorkerActor } from "./exchange.ts";

/**
 * How fast a worker's host speaks, by what this process remembers. It is asked after a call was verified, so
 * that nobody else uses it up, and before the call is read, which is most of the work.
 */
export class HostPace {
  readonly #actor: WorkerActor;
  readonly #now: () => Instant;
  #pace: Pace;
  #spent = 0;

  constructor(actor: WorkerActor, now: () => Instant) {
    this.#actor = actor;
    this.#now = now;
    this.#pace = restedPace(now());
  }

  /** Takes what a report of so many bytes costs. Throws `busy` if the host has to wait. */
  report(bytes: number): void {
    this.#take(unitsOf(bytes));
  }

  /** The same of a log chunk or a snapshot, whose bytes go elsewhere and are not counted. */
  bytes(): void {
    this.#take(unitsOf(0));
  }

  /** The same of another start of its agent, or of a socket. */
  start(): void {
    this.#take(UNITS_OF_A_START);
  }

  #take(units: number): void {
    const { spent } = this.#actor.state.memo;
    // A worker that was loaded anew counts from nothing.
    this.#pace = charged(this.#pace, Math.max(0, spent - this.#spent));
    this.#spent = spent;
    const { pace, waitMs } = paced(this.#pace, units, this.#now());
    this.#pace = pace;
    if (waitMs > 0) throw tooFast(waitMs);
  }
}

function tooFast(retryAfterMs: Millis): DroverError {
  const text = "this host says more than one machine may: send it again after a while";
  return new DroverError("busy", text, { retryAfterMs });
}
