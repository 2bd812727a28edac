// Which owners of a pool's rows (allocations or workers) have been silent for a long time?
import { MAX_IN_FLIGHT } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";

/** The most owners to poll at a time: more than can be in flight, since some polls wait for a retry. */
export const MAX_POKES_DUE = 4 * MAX_IN_FLIGHT;

/** A `LastHeard` for readers. */
export type ReadonlyLastHeard = Pick<LastHeard, "silentSince">;

/**
 * Owners of rows in the order in which they were last heard from or polled, the longest silence first. So the
 * search for silent owners costs nothing while no owner is silent.
 */
export class LastHeard {
  readonly #at = new Map<string, Instant>();

  /** Notes that the owner was heard from or polled at this time. A time before the known time is ignored. */
  note(key: string, at: Instant): void {
    if (at <= (this.#at.get(key) ?? -1)) return;
    this.#at.delete(key);
    this.#at.set(key, at);
  }

  delete(key: string): void {
    this.#at.delete(key);
  }

  /**
   * The owners that have been silent since this time, at most `MAX_POKES_DUE`. Thousands may fall silent
   * together, and listing all of them after each answer would take quadratic time.
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
