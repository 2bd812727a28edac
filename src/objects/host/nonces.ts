import { SIGNATURE_TOLERANCE_MS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";

/** More calls of one host are not remembered: the oldest are forgotten first. */
const MAX_NONCES = 1_024;

/**
 * The nonces of calls that have been answered, for as long as the same call could come again. They are in
 * memory alone: after the object was evicted a call can be repeated once more (protocol.md#replays).
 */
export class Nonces {
  /** When each was seen, the oldest first. */
  readonly #seen = new Map<string, Instant>();

  /** Whether it has not been seen, which it has been from then on. */
  isNew(nonce: string, now: Instant): boolean {
    if (this.#seen.has(nonce)) return false;
    this.#seen.set(nonce, now);
    for (const [old, at] of this.#seen) {
      // It may have been signed as long after its arrival as before it.
      if (this.#seen.size <= MAX_NONCES && now - at <= 2 * SIGNATURE_TOLERANCE_MS) break;
      this.#seen.delete(old);
    }
    return true;
  }
}
