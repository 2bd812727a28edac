// Which runs of a pool have ended lately, by ordinal?

/** How many ends a loaded pool remembers for the endpoints of webhooks that follow it. */
export const MAX_ENDS_KEPT = 10_000;

/** The recent ends for readers. */
export type ReadonlyRecentEnds = Omit<RecentEnds, "note">;

/**
 * The keys of the runs that ended in this process, by ordinal (`tally.ts`), so that a reader that keeps up
 * costs no scan of the table. Everything older is in the rows.
 */
export class RecentEnds {
  readonly #keys = new Map<number, string>();
  #after: number;

  /** `latest`: the ordinal of the last end before this process. */
  constructor(latest: number) {
    this.#after = latest;
  }

  /** Whether all ends after this ordinal are in memory. */
  remembers(after: number): boolean {
    return after >= this.#after;
  }

  /** The keys of the ends after this ordinal, in order. */
  *since(after: number): Generator<[end: number, key: string]> {
    for (let end = after + 1; this.#keys.has(end); end += 1) yield [end, this.#keys.get(end) ?? ""];
  }

  /** Notes that the run with this key got this ordinal. */
  note(end: number, key: string): void {
    if (end <= this.#after) return;
    this.#keys.set(end, key);
    if (this.#keys.size <= MAX_ENDS_KEPT) return;
    this.#after += 1;
    this.#keys.delete(this.#after);
  }
}
