// How many bytes does a text take in storage, and how many items fit?
/** A character that needs two bytes. */
const WIDE = /[\u0100-\uffff]/;

/** Bytes that a text takes in storage. One wide character makes all characters of the text wide. */
export function storedBytes(text: string): number {
  return WIDE.test(text) ? 2 * text.length : text.length;
}

/** The latest items that together fit into `maxBytes`; at least the last one. */
export function latestWithin<Item>(items: Item[], maxBytes: number, bytesOf: (item: Item) => number): Item[] {
  let left = maxBytes;
  let first = items.length;
  while (first > 0) {
    const item = items[first - 1];
    left -= item === undefined ? 0 : bytesOf(item);
    if (left < 0 && first < items.length) break;
    first -= 1;
  }
  return first === 0 ? items : items.slice(first);
}
