// How does work on many files share its thread?
import { setImmediate as yieldTurn } from "node:timers/promises";

/** How long one turn lasts. The same thread keeps leases and shows progress. */
const TURN_MS = 20;

/**
 * Work on many small files calls the system without waiting: a call takes some microseconds, and waiting for
 * each of them takes ten times as long (decisions/files.md#calls). So the work gives way now and then.
 */
export class Turns {
  readonly #signal: AbortSignal;
  #endsAt = performance.now() + TURN_MS;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * Call it before each step, and wait for the promise if there is one: the turn is over then, and other work
   * runs. Throws the reason of the signal.
   */
  next(): Promise<void> | undefined {
    this.#signal.throwIfAborted();
    return performance.now() > this.#endsAt ? this.#yield() : undefined;
  }

  async #yield(): Promise<void> {
    await yieldTurn();
    this.#endsAt = performance.now() + TURN_MS;
    this.#signal.throwIfAborted();
  }
}
