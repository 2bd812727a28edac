// What has a run cost so far?
import type { RunCost, RunStatus } from "../../../schema/run/run.ts";
import type { Instant } from "../../../shared/machine.ts";
import { costOfTimes } from "../../run/cost.ts";
import { type Existing, openPlacement } from "../state.ts";
import { statusOf } from "./status.ts";

/** The cost of a run up to `now`: that of all known placements, and its rate (cases.md#case-21). */
export function costOf(state: Existing, now: Instant): RunCost {
  const open = openPlacement(state);
  const stored = state.record.placements;
  const all = open === null || stored.some(({ epoch }) => epoch === open.epoch) ? stored : [...stored, open];
  return { ...costOfTimes(all, now), perHour: open === null ? 0 : (open.rate ?? null) };
}

/** A run at `now` as its readers see it, with its cost. */
export function readRun(state: Existing, now: Instant): RunStatus {
  return { ...statusOf(state), cost: costOf(state, now) };
}
