// How does one request call many objects without exceeding the platform's limits?

/**
 * The most simultaneous calls to objects for one request: the platform refuses stubs that are made too fast.
 */
export const PARALLEL_CALLS = 32;

/**
 * Applies `call` to every item, at most `PARALLEL_CALLS` at a time, and returns the results in order. Rejects
 * with the first failure. After a failure, running calls finish, but no new call begins.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  call: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length);
  const rest = items.entries();
  let failed = false;
  const lane = async () => {
    // All lanes share one iterator, so each item is processed once.
    for (const [index, item] of rest) {
      if (failed) return;
      results[index] = await call(item);
    }
  };
  const lanes = Array.from({ length: Math.min(PARALLEL_CALLS, items.length) }, lane);
  await Promise.all(lanes).catch((error: unknown) => {
    failed = true;
    throw error;
  });
  return results;
}
