// What does a provider say that its machines cost (pool.md#prices)?
import type { InstanceType, PoolConfig } from "../../../schema/pool.ts";
import { TRAITS } from "../../../shared/cloud/kinds.ts";
import type { OfferedPrice } from "../../provider-answers.ts";
import type { PoolRecord } from "../record.ts";
import { typesOf, zonesOf } from "./types.ts";

/** A type by the provider's name, of which the price is wanted. */
export interface PricedType {
  type: string;
  spot: boolean;
}

/** The types of a configuration, as the provider is asked for their prices. */
export function pricedTypes(config: PoolConfig): PricedType[] {
  return [...typesOf(config)].map(([name, type]) => pricedType(name, type));
}

function pricedType(name: string, { providerType = name, preemptible }: InstanceType): PricedType {
  return { type: providerType, spot: preemptible === true };
}

/**
 * Stores the prices that a provider has named. They change a few times a day, and each change is a row. A
 * provider that was asked and did not say (null) leaves those that are known; a pool without machines does
 * not go on asking it.
 */
export function withPrices(
  record: PoolRecord,
  prices: readonly OfferedPrice[] | null | undefined,
): PoolRecord {
  if (prices === undefined) return record;
  if (prices === null) return record.prices === undefined ? { ...record, prices: [] } : record;
  const wanted = pricedTypes(record.config);
  const used = prices.filter((one) =>
    wanted.some(({ type, spot }) => type === one.type && spot === one.spot),
  );
  if (JSON.stringify(used) === JSON.stringify(record.prices)) return record;
  return { ...record, prices: used };
}

/** Whether the provider names prices of configured types, and has not been heard of them. */
export function awaitsPrices({ config, prices }: PoolRecord): boolean {
  const { namesPrices } = TRAITS[config.provider.kind];
  if (namesPrices === undefined || prices !== undefined) return false;
  return pricedTypes(config).some(({ spot }) => spot || namesPrices === "all");
}

/**
 * The type with the price that its provider names for this zone, or else as it is configured. Where the
 * provider chooses the zone, or names prices of other zones alone, the dearest one counts: an unknown price
 * would count as 0, and bring that zone first.
 */
export function withPrice(
  prices: readonly OfferedPrice[] | undefined,
  name: string,
  type: InstanceType,
  zone: string | null,
): InstanceType {
  if (prices === undefined) return type;
  const wanted = pricedType(name, type);
  const named = prices.filter((one) => one.type === wanted.type && one.spot === wanted.spot);
  if (named.length === 0) return type;
  const here = named.filter((one) => one.zone === null || one.zone === zone);
  return { ...type, price: Math.max(...(here.length > 0 ? here : named).map(({ price }) => price)) };
}

/** The price of each machine that can be requested; undefined: unknown. */
export function pricesOf({ config, prices }: Pick<PoolRecord, "config" | "prices">): (number | undefined)[] {
  return [...typesOf(config)].flatMap(([name, type]) =>
    zonesOf(config, type).map((zone) => withPrice(prices, name, type, zone).price),
  );
}
