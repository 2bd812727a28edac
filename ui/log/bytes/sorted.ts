// How many items at the beginning of a sorted list are so?

/** Counts them by halves: `isSo` must hold for some items at the beginning, and for no later one. */
export function countOf<T>(items: ArrayLike<T>, isSo: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const item = items[middle];
    if (item !== undefined && isSo(item)) low = middle + 1;
    else high = middle;
  }
  return low;
}
