// What does a provider say that its machines cost (pool.md#prices)?
import type { InstanceType, PoolConfig } from "../../../schema/pool.ts";
import { TRAITS } from "../../../shared/cloud/kinds.ts";
import type { OfferedPrice, PricedType } from "../../provider-answers.ts";
import type { PoolRecord } from "../record.ts";
import { typesOf, zonesOf } from "./types.ts";

/** What a provider has said when it was asked for prices. */
export interface PriceNews {
  /** The types that it was asked for. */
  of: PricedType[];
  /** Null: it names none. */
  named: OfferedPrice[] | null;
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
 * provider that was asked and names none leaves those that are known; a pool without machines does not go on
 * asking it for the same types.
 */
export function withPrices(record: PoolRecord, news: PriceNews | undefined): PoolRecord {
  if (news === undefined) return record;
  const wanted = pricedTypes(record.config);
  const named = news.named?.filter((one) => wanted.some((type) => isSame(type, one)));
  const next = { prices: named ?? record.prices ?? [], pricesAsked: news.of };
  const known = { prices: record.prices, pricesAsked: record.pricesAsked };
  return JSON.stringify(next) === JSON.stringify(known) ? record : { ...record, ...next };
}

/** Whether the provider names prices of configured types, and was not heard of all of them. */
export function awaitsPrices({ config, pricesAsked = [] }: PoolRecord): boolean {
  const { namesPrices } = TRAITS[config.provider.kind];
  if (namesPrices === undefined) return false;
  return pricedTypes(config).some(
    (type) => (type.spot || namesPrices === "all") && !pricesAsked.some((asked) => isSame(type, asked)),
  );
}

function isSame(one: PricedType, other: PricedType): boolean {
  return one.type === other.type && one.spot === other.spot;
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
  const named = prices.filter((one) => isSame(wanted, one));
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
