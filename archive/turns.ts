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

  /** Call it before each step: lets other work run when the turn is over. Throws the reason of the signal. */
  async next(): Promise<void> {
    if (performance.now() > this.#endsAt) {
      await yieldTurn();
      this.#endsAt = performance.now() + TURN_MS;
    }
    this.#signal.throwIfAborted();
  }
}
