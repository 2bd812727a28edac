// How do several lists share the lines of a screen, and which part of a list is shown?

/** A list with fewer lines would be a heading over nothing. */
const LEAST_LINES = 2;

/**
 * Divides lines among lists that want so many each (cli.md#top). Each gets its heading and one line, the
 * first lists first; what is left goes to those that have least. A list that gets none is not shown.
 */
export function sharesOf(lines: number, wants: readonly number[]): number[] {
  let left = lines;
  const shares = wants.map((want): number => {
    const share = want > 0 && left >= LEAST_LINES ? LEAST_LINES : 0;
    left -= share;
    return share;
  });
  const isOpen = (at: number) => (shares[at] ?? 0) > 0 && (shares[at] ?? 0) < (wants[at] ?? 0);
  for (; left > 0; left -= 1) {
    const open = shares.map((_, at) => at).filter(isOpen);
    const [first] = open.sort((a, b) => (shares[a] ?? 0) - (shares[b] ?? 0) || a - b);
    if (first === undefined) break;
    shares[first] = (shares[first] ?? 0) + 1;
  }
  return shares;
}

/** Where the shown part of a list begins, so that the chosen item is in it. */
export function startOf(chosen: number, shown: number): number {
  return Math.max(0, chosen - shown + 1);
}
