// What does a machine, a pool or a run cost?
import type { Resources } from "../../../schema/common.ts";
import type { PoolSpend } from "../../../schema/pool.ts";
import type { Instant } from "../../../shared/machine.ts";
import { REFUSALS } from "../../refusal.ts";
import type { ReadonlyRows } from "../../rows.ts";
import { pricesOf } from "../plan/prices.ts";
import { capacityOfRow, type PoolRecord, providedWorkers, type WorkerRow } from "../record.ts";

/**
 * The hourly price of a machine: as listed by the provider, or else as configured. A self-hosted machine
 * costs 0. Null: the price is unknown.
 */
export function priceOfRow({
  kind,
  type,
  listedPrice,
}: Pick<WorkerRow, "kind" | "type" | "listedPrice">): number | null {
  return kind === "cloud" ? (listedPrice?.price ?? type.price ?? null) : 0;
}

/**
 * The cost of a machine up to `until`, counted from its latest price change or from when it was last marked
 * gone, whichever is later. If the provider has listed no price, the cost is counted from the request for the
 * machine.
 */
export function spentSince(row: WorkerRow, until: Instant): number {
  if (isRefused(row)) return 0;
  const from = row.paid?.from ?? row.askedAt;
  const counted = row.uncounted === true ? 0 : (row.spentUntil ?? 0);
  const since = Math.max(row.listedPrice?.since ?? from, counted);
  return ((priceOfRow(row) ?? 0) * Math.max(0, until - since)) / 3_600_000;
}

/** Whether the provider said that it did not make the machine, and no listing shows it. */
export function isRefused({ instance, failure, unmade }: WorkerRow): boolean {
  if (instance !== null || failure === null || failure.inDoubt === true) return false;
  return unmade || REFUSALS.includes(failure.class);
}

/**
 * The hourly cost of the pool's machines. Each machine that may exist counts, from its permit to its observed
 * end, unless the provider says that it made no machine and no listing shows the machine. So the sum is too
 * low only if the price of a machine is unknown (`unpriced`). `worstPerHour`: the cost of `maxInstances`
 * machines of the most expensive type, or of the present machines if they cost more; null: a price is
 * unknown.
 */
export function spendOf(state: {
  readonly record: PoolRecord;
  readonly workers: ReadonlyRows<WorkerRow>;
}): PoolSpend {
  const { config } = state.record;
  const { maxInstances } = config;
  let perHour = 0;
  let unpriced = 0;
  for (const row of providedWorkers(state)) {
    if (isRefused(row)) continue;
    const price = priceOfRow(row);
    perHour += price ?? 0;
    if (price === null) unpriced += 1;
  }
  const prices = pricesOf(state.record);
  const known = prices.filter((price) => price !== undefined);
  const isKnown = maxInstances === 0 || known.length === prices.length;
  const worst = Math.max(perHour, maxInstances * Math.max(0, ...known));
  return { perHour, unpriced, worstPerHour: isKnown && unpriced === 0 ? worst : null };
}

/**
 * The hourly cost of a run on this machine. The run asks for a share of each kind of resource. The largest of
 * these shares (at most 1) is its share of the machine's price. Null: the price is unknown.
 */
export function rateOf(need: Resources, row: WorkerRow): number | null {
  const price = priceOfRow(row);
  return price === null ? null : shareOfPrice(need, capacityOfRow(row), price);
}

/** The part of a machine's price that is charged to a run on it, by what the machine has in all. */
export function shareOfPrice(need: Resources, total: Resources, price: number): number {
  if (price === 0) return 0;
  const kinds = ["vcpus", "memoryBytes", "diskBytes", "gpus"] as const;
  const shares = kinds.map((kind) => (total[kind] > 0 ? need[kind] / total[kind] : 0));
  return price * Math.min(1, Math.max(...shares));
}
