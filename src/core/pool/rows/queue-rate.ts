import type { Instant, Millis } from "../../../shared/machine.ts";

/** The latest places that were given out, by which is judged how fast a queue drains. */
const PLACES_KEPT = 32;
/** What a client is told to wait, at least and at most, and while nothing is known. */
const LEAST_MS = 1_000;
const MOST_MS = 60_000;
const UNKNOWN_MS = 10_000;
/** The part of a full queue that shall be free when a client tries again: others try, too. */
const FREE_PART = 100;

/** How fast runs leave the queue of a pool. A restart forgets it, and learns it again. */
export class Drain {
  readonly #placedAt: Instant[] = [];

  /** A run has left the queue for a worker. */
  note(now: Instant): void {
    this.#placedAt.push(now);
    if (this.#placedAt.length > PLACES_KEPT) this.#placedAt.shift();
  }

  /** When a hundredth of a full queue will be free at the pace of the latest places. */
  retryAfterMs(maxQueue: number, now: Instant): Millis {
    const [first] = this.#placedAt;
    if (first === undefined) return UNKNOWN_MS;
    // The longer nothing has been placed, the slower it is.
    const eachMs = (now - first) / this.#placedAt.length;
    const wantedMs = eachMs * Math.max(1, maxQueue / FREE_PART);
    return Math.round(Math.min(MOST_MS, Math.max(LEAST_MS, wantedMs)));
  }
}
