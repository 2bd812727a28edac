// Which owners of rows have been silent for a long time?
import { MAX_IN_FLIGHT } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";

/** The most owners to poll at a time: more than can be in flight, since some wait to be polled again. */
export const MAX_POKES_DUE = 4 * MAX_IN_FLIGHT;

/** The list for readers. */
export type ReadonlyLastHeard = Pick<LastHeard, "silentSince">;

/**
 * Owners of rows in the order in which they were last heard or asked, longest silence first, so that finding
 * silent ones costs nothing while there are none.
 */
export class LastHeard {
  readonly #at = new Map<string, Instant>();

  /** Notes that the owner was heard or asked at this time; a time before the known one is ignored. */
  note(key: string, at: Instant): void {
    if (at <= (this.#at.get(key) ?? -1)) return;
    this.#at.delete(key);
    this.#at.set(key, at);
  }

  delete(key: string): void {
    this.#at.delete(key);
  }

  /**
   * The owners that have been silent since then, at most `MAX_POKES_DUE`: thousands may fall silent together,
   * and listing all of them after each answer would take quadratic time.
   */
  silentSince(since: Instant): string[] {
    const silent: string[] = [];
    for (const [key, at] of this.#at) {
      if (at > since || silent.length === MAX_POKES_DUE) break;
      silent.push(key);
    }
    return silent;
  }
}
