import type { Instance } from "../../../schema/provider.ts";
import { MAX_PRICES } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { ToldPrice } from "../../messages.ts";
import type { Living, WorkerRecord } from "../state.ts";

/** Takes in what the provider says that an hour of the machine costs now (pool.md#prices). */
export function withPrice(state: Living, { price }: Instance, beganAt: Instant): Living {
  const { prices = [] } = state.record;
  const latest = prices.at(-1);
  if (price === undefined || price === latest?.price || beganAt < (latest?.since ?? 0)) return state;
  const now = [...prices, { price, since: beganAt }].slice(-MAX_PRICES);
  return { ...state, record: { ...state.record, prices: now } };
}

/** What its machine costs now by the provider's word; undefined if that has said nothing. */
export function toldPrice({ prices }: WorkerRecord): ToldPrice | undefined {
  return prices?.at(-1);
}
