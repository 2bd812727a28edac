// What has a run cost so far?
import type { RunCost, RunStatus } from "../../../schema/run/run.ts";
import type { Instant } from "../../../shared/machine.ts";
import { type Existing, openPlacement, type PlacementRecord } from "../state.ts";
import { exactCost, rounded } from "./money.ts";
import { statusOf } from "./status.ts";

/**
 * The cost of a run up to `now` at list prices: the sum over all known placements of time multiplied by rate
 * (`PlacementRecord.rate`). A placement without a known rate is counted in `unpriced`, never as free. If
 * there are placements, but none has a known rate, the amount is null (cases.md#case-21).
 */
export function costOf(state: Existing, now: Instant): RunCost {
  const open = openPlacement(state);
  const stored = state.record.placements;
  const all = open === null || stored.some(({ epoch }) => epoch === open.epoch) ? stored : [...stored, open];
  const priced = all.filter(hasRate);
  const unpriced = all.length - priced.length;
  const sum = priced.reduce((total, { from, to, rate }) => total + exactCost(from, to ?? now, rate), 0);
  const amount = priced.length === 0 && unpriced > 0 ? null : rounded(sum);
  return { amount, unpriced, perHour: open === null ? 0 : (open.rate ?? null) };
}

function hasRate(placement: PlacementRecord): placement is PlacementRecord & { rate: number } {
  return typeof placement.rate === "number";
}

/** A run at `now` as its readers see it, with its cost. */
export function readRun(state: Existing, now: Instant): RunStatus {
  return { ...statusOf(state), cost: costOf(state, now) };
}
