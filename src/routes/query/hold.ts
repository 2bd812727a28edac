// How does a waiting request survive the restart of an object?
import { backOffMs, spread } from "../../shared/time/backoff.ts";
import { asDroverError } from "../http/problem.ts";

/**
 * If the request waits, a failing call is tried at least this often, even after the end of the wait. `PAUSES`
 * lie between the tries.
 */
const MIN_TRIES = 5;
const PAUSES = { firstMs: 100, longestMs: 1_000 };

/**
 * The time for which a request waits for its answer. Meanwhile the platform may move, reset or redeploy
 * objects (platform.md#lifetime), which ends all waits in these objects. So each call is repeated until an
 * object answers. No change is missed, since a call asks about the current state.
 */
export class Hold {
  readonly #endsAt: number;
  /** Whether the request waits at all. If not, a failed call is not repeated. */
  readonly #waits: boolean;

  constructor(waitMs: number) {
    this.#waits = waitMs > 0;
    this.#endsAt = performance.now() + waitMs;
  }

  /** The remaining milliseconds. */
  get leftMs(): number {
    return Math.max(0, Math.ceil(this.#endsAt - performance.now()));
  }

  /** Makes a call. While the object is unavailable, repeats the call with the remaining time. */
  async ask<Answer>(call: (leftMs: number) => Promise<Answer>): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call(this.leftMs);
      } catch (error) {
        const over = this.leftMs === 0 && tries >= MIN_TRIES;
        if (!this.#waits || over || asDroverError(error).code !== "unavailable") throw error;
        const pauseMs = spread(backOffMs(PAUSES, tries), Math.random());
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
}
