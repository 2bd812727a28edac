// How does one request call many objects without exceeding the platform's limits?
import type { Millis } from "../../shared/machine.ts";

/**
 * The most simultaneous calls to objects for one request: the platform refuses stubs that are made too fast.
 */
export const PARALLEL_CALLS = 32;

/**
 * After so many calls all lanes wait for a timer. A local runtime reads its sockets only once it has nothing
 * else to do: hosts and other callers would wait for the last item (budgets.md#a-batch-lets-others-through).
 */
const CALLS_BEFORE_PAUSE = 8;
const PAUSE_MS: Millis = 1;

const sleep = (ms: Millis) => new Promise<void>((resolve) => setTimeout(resolve, ms));

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
  let pause: Promise<void> | undefined;
  const lane = async () => {
    // All lanes share one iterator, so each item is processed once.
    for (const [index, item] of rest) {
      if (failed) return;
      results[index] = await call(item);
      if ((index + 1) % CALLS_BEFORE_PAUSE === 0) pause = sleep(PAUSE_MS);
      await pause;
    }
  };
  const lanes = Array.from({ length: Math.min(PARALLEL_CALLS, items.length) }, lane);
  await Promise.all(lanes).catch((error: unknown) => {
    failed = true;
    throw error;
  });
  return results;
}
