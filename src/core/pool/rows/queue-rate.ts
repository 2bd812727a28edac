// How fast do runs leave the queue of a pool, and when may a client try again?
import type { Instant, Millis } from "../../../shared/machine.ts";

/** The rate is computed from this many of the latest placements. */
const PLACES_KEPT = 32;
/** The shortest and the longest delay for a client, and the delay while nothing is known. */
const LEAST_MS = 1_000;
const MOST_MS = 60_000;
const UNKNOWN_MS = 10_000;
/** A client should try again when a hundredth of a full queue is free. Other clients try, too. */
const FREE_PART = 100;

/** How fast runs leave the queue of a pool. A restart loses this knowledge. */
export class QueueRate {
  readonly #placedAt: Instant[] = [];

  /** Notes that a run was placed. */
  note(now: Instant): void {
    this.#placedAt.push(now);
    if (this.#placedAt.length > PLACES_KEPT) this.#placedAt.shift();
  }

  /** How long it takes until a hundredth of a full queue is free at the present rate. */
  retryAfterMs(maxQueue: number, now: Instant): Millis {
    const [first] = this.#placedAt;
    if (first === undefined) return UNKNOWN_MS;
    // The rate drops while nothing is placed.
    const eachMs = (now - first) / this.#placedAt.length;
    const wantedMs = eachMs * Math.max(1, maxQueue / FREE_PART);
    return Math.round(Math.min(MOST_MS, Math.max(LEAST_MS, wantedMs)));
  }
}
