/** Calls to objects that one request has under way at a time: the platform refuses stubs made too quickly. */
export const PARALLEL_CALLS = 32;

/**
 * Applies `call` to every item, at most `PARALLEL_CALLS` at a time, and keeps the order. The first failure
 * ends it with that error: calls under way are left to finish, no new one begins.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  call: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length);
  const rest = items.entries();
  let failed = false;
  const lane = async () => {
    // All lanes draw from the one iterator, so each item is taken once.
    for (const [index, item] of rest) {
      if (failed) return;
      results[index] = await call(item, index);
    }
  };
  const lanes = Array.from({ length: Math.min(PARALLEL_CALLS, items.length) }, lane);
  await Promise.all(lanes).catch((error: unknown) => {
    failed = true;
    throw error;
  });
  return results;
}
