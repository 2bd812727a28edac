// Was this call made before?
import { SIGNATURE_TOLERANCE_MS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";

/** Nonces remembered per host; the oldest are dropped first. */
const MAX_NONCES = 1_024;

/**
 * The nonces of calls, for as long as the same call could be repeated. They are kept only in memory: after an
 * eviction of the object, a call can be repeated once (protocol.md#replays).
 */
export class Nonces {
  /** When each nonce was first seen, oldest first. */
  readonly #seen = new Map<string, Instant>();

  /** Whether the nonce is new. The nonce is remembered from now on. */
  isNew(nonce: string, now: Instant): boolean {
    if (this.#seen.has(nonce)) return false;
    this.#seen.set(nonce, now);
    for (const [old, at] of this.#seen) {
      // Clocks differ: a signature may be dated up to the tolerance before or after its call arrives.
      if (this.#seen.size <= MAX_NONCES && now - at <= 2 * SIGNATURE_TOLERANCE_MS) break;
      this.#seen.delete(old);
    }
    return true;
  }
}
