// Which requests of a caller have no outcome yet (access.md#rate-limits)?
import type { Instant, Millis } from "../../shared/machine.ts";

/** After this time a reserved request counts as ended: the platform ended it, since its client had left. */
export const LONGEST_JUDGMENT_MS: Millis = 10_000;

/** When a request began that has no outcome yet. */
export interface OpenRequest {
  at: Instant;
}

/**
 * The requests of one caller that have no outcome yet. Those that the platform ended never get one: they are
 * dropped when the next one is added, so they do not pile up.
 */
export class OpenRequests {
  readonly #all = new Set<OpenRequest>();

  /** How many are remembered. */
  get size(): number {
    return this.#all.size;
  }

  /** Adds a request that begins now. */
  add(now: Instant): OpenRequest {
    for (const one of this.#all) if (!isYoung(one, now)) this.#all.delete(one);
    const added = { at: now };
    this.#all.add(added);
    return added;
  }

  /** Ends a request. One that was dropped is no longer there. */
  end(one: OpenRequest): void {
    this.#all.delete(one);
  }

  /** Whether one of them may still get an outcome. */
  hasYoung(now: Instant): boolean {
    for (const one of this.#all) if (isYoung(one, now)) return true;
    return false;
  }
}

function isYoung({ at }: OpenRequest, now: Instant): boolean {
  return now - at < LONGEST_JUDGMENT_MS;
}
