// What does a time on a machine cost at list prices?
import type { Instant } from "../../shared/machine.ts";

const HOUR_MS = 3_600_000;
/** Costs are rounded to nine decimals: enough for a millisecond on the cheapest machine. */
const DECIMALS = 1e9;

/** What the time between two instants costs, by the price of an hour. */
export function exactCost(from: Instant, to: Instant, perHour: number): number {
  return (perHour * Math.max(0, to - from)) / HOUR_MS;
}

/** A cost as it is shown. */
export function rounded(cost: number): number {
  return Math.round(cost * DECIMALS) / DECIMALS;
}
