import { backOffMs, spread } from "../../shared/time/backoff.ts";
import { asDroverError } from "../http/problem.ts";

/** Tries of one call beyond the end of the wait, and the pauses between them. */
const LEAST_TRIES = 5;
const PAUSES = { firstMs: 100, longestMs: 1_000 };

/**
 * The time for which the answer to a request is held. Objects come and go meanwhile: they are moved, reset
 * and deployed anew (platform.md#lifetime), and with them goes whatever was waiting in them. So each call is
 * made again, by level, until it is answered.
 */
export class Hold {
  readonly #endsAt: number;
  /** Whether the answer is held at all: what is asked for now is not worth a pause. */
  readonly #held: boolean;

  constructor(waitMs: number) {
    this.#held = waitMs > 0;
    this.#endsAt = performance.now() + waitMs;
  }

  /** Milliseconds that are left. */
  get leftMs(): number {
    return Math.max(0, Math.ceil(this.#endsAt - performance.now()));
  }

  /** Asks, and asks again with what is left of the time, as long as the answer is that nobody was there. */
  async ask<Answer>(call: (leftMs: number) => Promise<Answer>): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call(this.leftMs);
      } catch (error) {
        const over = this.leftMs === 0 && tries >= LEAST_TRIES;
        if (!this.#held || over || asDroverError(error).code !== "unavailable") throw error;
        const pauseMs = spread(backOffMs(PAUSES, tries), Math.random());
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
}
