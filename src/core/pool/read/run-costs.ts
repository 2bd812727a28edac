// What has a run cost, as its pool knows it (api.md#costs-in-lists)?
import type { RunCost, RunSummary } from "../../../schema/run/run.ts";
import type { Instant } from "../../../shared/machine.ts";
import { isTerminal } from "../../../shared/run-state.ts";
import { costOfTimes, type Paid } from "../../run/cost.ts";
import { rounded } from "../../run/money.ts";
import { runSummary } from "../../run/run-summary.ts";
import { isOpen, type RunRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";
import { rateOf } from "./money.ts";

const NOTHING: Paid = { amount: 0, unpriced: 0 };

/** A run of the pool at `now` as lists show it. */
export function listedRun(state: ReadonlyConfigured, row: RunRow, now: Instant): RunSummary {
  return runSummary(row, state.record.name, costOf(state, row, now));
}

/**
 * What its allocation has said of placements that are over, and the open placement at the present price of
 * its machine. Undefined: it is not known.
 */
function costOf(state: ReadonlyConfigured, row: RunRow, now: Instant): RunCost | undefined {
  // A run that an earlier version has ended does not say what it has cost.
  if (isTerminal(row.state) && !isOpen(row) && row.paid === undefined && row.ended > 0) return undefined;
  const paid = row.paid ?? NOTHING;
  const worker = isOpen(row) && row.worker !== null ? state.workers.get(row.worker) : undefined;
  if (worker === undefined || row.openedAt === undefined) return { ...paid, perHour: 0 };
  const rate = rateOf(row.resources, worker) ?? undefined;
  const open = costOfTimes([{ from: row.openedAt, to: null, ...(rate === undefined ? {} : { rate }) }], now);
  const known = [row.paid, open].flatMap((one) => one?.amount ?? []);
  const amount = known.length === 0 ? null : rounded(known.reduce((sum, one) => sum + one, 0));
  return { amount, unpriced: paid.unpriced + open.unpriced, perHour: rate ?? null };
}
