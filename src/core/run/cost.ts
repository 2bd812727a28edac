// What have the placements of a run cost?
import type { Instant } from "../../shared/machine.ts";
import { exactCost, rounded } from "./money.ts";

/** A time on a machine. `to`: null while it lasts. `rate`: what an hour costs; absent: unknown. */
export interface PricedTime {
  from: Instant;
  to: Instant | null;
  rate?: number;
}

/** The cost of some placements. `amount`: null if no price is known. `unpriced`: how many have no price. */
export interface Paid {
  amount: number | null;
  unpriced: number;
}

/**
 * The cost of placements up to `now` at list prices: the sum of time multiplied by rate. A placement without
 * a known rate is counted in `unpriced`, never as free. If there are placements, but none has a known rate,
 * the amount is null (cases.md#case-21).
 */
export function costOfTimes(times: readonly PricedTime[], now: Instant): Paid {
  const costs = times.flatMap(({ from, to, rate }) =>
    rate === undefined ? [] : [exactCost(from, to ?? now, rate)],
  );
  const unpriced = times.length - costs.length;
  const amount =
    costs.length === 0 && unpriced > 0 ? null : rounded(costs.reduce((sum, cost) => sum + cost, 0));
  return { amount, unpriced };
}
