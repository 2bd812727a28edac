// Which runs of a list does an act fit, and how much of it is read for one go (ui.md#selection)?
import type { RunSummary } from "../../../../src/generated/api.ts";

/** More runs than this are not done in one go: the page would have to stay open too long. */
export const MOST_AT_ONCE = 5_000;

/** What a selection means to an act. */
export interface Found {
  /** The runs that the act fits. */
  ids: readonly string[];
  /** How many runs it does not fit. */
  left: number;
  /** Where to read on for more than `MOST_AT_ONCE`; null: this is all. */
  next: string | null;
}

interface Page {
  items: readonly RunSummary[];
  next: string | null;
}

/**
 * Reads pages from `after` on, until all are read or another one could make more than `most` runs. What does
 * not fit takes no place, so however much of it there is, the others are reached. `read` is told how many
 * runs have been read.
 */
export async function gathered(
  pageAt: (cursor: string | undefined) => Promise<Page>,
  { fits, most = MOST_AT_ONCE, after, read }: Gathering,
): Promise<Found> {
  const ids: string[] = [];
  let left = 0;
  for (let cursor = after; ; ) {
    const { items, next } = await pageAt(cursor);
    const fitting = items.filter(fits).map(({ id }) => id);
    ids.push(...fitting);
    left += items.length - fitting.length;
    read(ids.length + left);
    if (next === null || ids.length + items.length > most) return { ids, left, next };
    cursor = next;
  }
}

/** What is gathered: from a cursor on, or from the beginning. */
export interface Gathering {
  fits(run: RunSummary): boolean;
  most?: number;
  after?: string | undefined;
  read(count: number): void;
}
