// How does a request wait for what another request is doing? It looks again and again, by its own timer: a
// request cannot safely await the promise of another one, which the platform ends if its client leaves.
import type { Millis } from "../../shared/machine.ts";
import { backOffMs } from "../../shared/time/backoff.ts";

const PAUSES = { firstMs: 4, longestMs: 64 };

/** The time for which one request waits for others. */
export class Turn {
  readonly #endsAt: number;
  #looks = 0;

  constructor(mostMs: Millis) {
    this.#endsAt = performance.now() + mostMs;
  }

  /** Whether the request has waited for as long as it may. */
  get isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  /** Waits until the next look: soon at first, then less often. */
  async pause(): Promise<void> {
    this.#looks += 1;
    const pauseMs = backOffMs(PAUSES, this.#looks);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
