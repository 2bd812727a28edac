// What does an hour of a machine cost by its provider's listings?
import type { Instance } from "../../../schema/provider.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { ExistingWorker } from "../state.ts";

/** How many changes of a machine's price are remembered. */
export const MAX_PRICES = 50;

/** Notes a new price of the machine (pool.md#prices). */
export function withPrice(state: ExistingWorker, { price }: Instance, beganAt: Instant): ExistingWorker {
  const { prices } = state.record;
  const latest = prices.at(-1);
  if (price === undefined || price === latest?.price || beganAt < (latest?.since ?? 0)) return state;
  const now = [...prices, { price, since: beganAt }].slice(-MAX_PRICES);
  return { ...state, record: { ...state.record, prices: now } };
}
