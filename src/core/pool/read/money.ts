import type { Resources } from "../../../schema/common.ts";
import type { InstanceType, PoolSpend } from "../../../schema/pool.ts";
import type { Instant } from "../../../shared/machine.ts";
import { REFUSALS } from "../../refusal.ts";
import type { ReadonlyRows } from "../../rows.ts";
import { capacityOfRow, type PoolRecord, providedWorkers, type WorkerRow } from "../record.ts";

/**
 * What an hour of this type is taken to cost where prices are compared: nothing, if nobody has said
 * (pool.md#prices). What is shown to people says that it is not known (cases.md#case-21).
 */
export function assumedPrice({ price = 0 }: Pick<InstanceType, "price">): number {
  return price;
}

/**
 * What an hour of this machine costs: by its provider's word, or else by the list. A self-hosted machine
 * costs nothing here; null: not known.
 */
export function priceOfRow({
  kind,
  type,
  toldPrice,
}: Pick<WorkerRow, "kind" | "type" | "toldPrice">): number | null {
  return kind === "cloud" ? (toldPrice?.price ?? type.price ?? null) : 0;
}

/** What a machine has cost until then, since its price last changed, or it was last taken for gone. */
export function spentSince(row: WorkerRow, until: Instant): number {
  if (isRefused(row)) return 0;
  const since = Math.max(row.toldPrice?.since ?? row.askedAt, row.spentUntil ?? 0);
  return ((priceOfRow(row) ?? 0) * Math.max(0, until - since)) / 3_600_000;
}

/** Whether the provider has said that it did not make the machine, and nobody has seen it. */
function isRefused({ instance, failure, unmade }: WorkerRow): boolean {
  if (instance !== null || failure === undefined) return false;
  return unmade === true || REFUSALS.includes(failure.class);
}

/**
 * What the pool's machines cost. Each that may exist counts, from its permit until it was seen to be gone.
 * One that the provider has not made, by its own word, does not, unless a listing shows it: so the sum is
 * never too low, but for machines of which no price is known (`unpriced`). The worst case is all machines
 * that there may be, of the dearest type, or what there is, if that is more; null if the price of a type is
 * not known.
 */
export function spendOf(state: {
  readonly record: PoolRecord;
  readonly workers: ReadonlyRows<WorkerRow>;
}): PoolSpend {
  const { instanceTypes, maxInstances } = state.record.config;
  let perHour = 0;
  let unpriced = 0;
  for (const row of providedWorkers(state)) {
    if (isRefused(row)) continue;
    const price = priceOfRow(row);
    perHour += price ?? 0;
    if (price === null) unpriced += 1;
  }
  const prices = Object.values(instanceTypes).map(({ price }) => price);
  const known = prices.filter((price) => price !== undefined);
  const isKnown = maxInstances === 0 || known.length === prices.length;
  const worst = Math.max(perHour, maxInstances * Math.max(0, ...known));
  return { perHour, unpriced, worstPerHour: isKnown && unpriced === 0 ? worst : null };
}

/**
 * What an hour of a run costs on this machine: the price of the machine, times the greatest of the shares
 * that the run asks for of what the machine has, never more than all of it. Null: the price is not known.
 */
export function rateOf(need: Resources, row: WorkerRow): number | null {
  const price = priceOfRow(row);
  if (price === null || price === 0) return price;
  const total = capacityOfRow(row);
  const kinds = ["vcpus", "memoryBytes", "diskBytes", "gpus"] as const;
  const shares = kinds.map((kind) => (total[kind] > 0 ? need[kind] / total[kind] : 0));
  return price * Math.min(1, Math.max(...shares));
}
