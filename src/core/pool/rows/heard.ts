import { MAX_POKES_DUE } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";

/** The owners of rows as readers see them. */
export type ReadonlyHeard = Pick<Heard, "silentSince">;

/**
 * Owners of rows, in the order in which they were last heard of or asked: whoever has been silent for longest
 * is in front, so that looking for those that are to be asked costs nothing while there are none.
 */
export class Heard {
  readonly #at = new Map<string, Instant>();

  /** It was heard of, or asked, at that time; an earlier time than the known one says nothing. */
  note(key: string, at: Instant): void {
    if (at <= (this.#at.get(key) ?? -1)) return;
    this.#at.delete(key);
    this.#at.set(key, at);
  }

  delete(key: string): void {
    this.#at.delete(key);
  }

  /**
   * Those that have been silent since then, or longer, and of many the longest: a queue of thousands falls
   * silent at once, and to name all of it after each answer would cost its square.
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
