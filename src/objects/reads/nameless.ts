// Where does a search go on that has ended at a run which its reader may not see?

/** Sorts after every key of a run. */
export const TOP = "~";

/**
 * A cursor without the id of the run at which a search ended: the caller may not see that run. The search
 * then looks again at the runs of the same millisecond, unless it would never leave that millisecond.
 */
export function nameless(next: string | null, before: string): string | null {
  const place = next && `${next.slice(0, next.indexOf("/"))}/${TOP}`;
  return place !== null && place < before ? place : next;
}
