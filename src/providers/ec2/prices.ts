// What do spot machines of EC2 cost now?

import type { OfferedPrice, PricesAnswer } from "../../core/provider-answers.ts";
import type { Ec2Config } from "../../schema/pool/providers/clouds.ts";
import { unreadable } from "../wire.ts";
import { spotPricesForm } from "./forms.ts";
import type { Asking } from "./listing.ts";
import { itemsAt, textAt, type XmlElement } from "./xml.ts";

/** A page has 1,000 prices: more than 16 types have in 6 zones. */
const MAX_PAGES = 10;

/**
 * The present spot price of each type in each zone (clouds/ec2.md#prices). EC2 names no other prices. With
 * subnets, only their zones count. `at`: now.
 */
export async function spotPrices(
  { call }: Asking,
  types: readonly string[],
  at: number,
  subnets: Ec2Config["subnets"],
): Promise<PricesAnswer> {
  const latest = new Map<string, OfferedPrice & { since: string }>();
  let next: string | undefined;
  for (let pages = 0; types.length > 0 && pages < MAX_PAGES; pages += 1) {
    const called = await call(spotPricesForm(types, at, next));
    if ("failure" in called) return { kind: "failed", failure: called.failure };
    const items = itemsAt(called.root, "spotPriceHistorySet");
    if (items === undefined) {
      return unreadable("DescribeSpotPriceHistory", "it has no `spotPriceHistorySet`");
    }
    for (const price of items.flatMap((item) => priceIn(item) ?? [])) {
      const key = `${price.type}@${price.zone}`;
      const isNewer = (latest.get(key)?.since ?? "") <= price.since;
      if (isNewer && isUsed(price.zone, subnets)) latest.set(key, price);
    }
    next = textAt(called.root, "nextToken");
    if (next === undefined) break;
  }
  const prices = [...latest.values()].map(({ since: _, ...price }) => price);
  return { kind: "prices", prices };
}

function isUsed(zone: string | null, subnets: Ec2Config["subnets"]): boolean {
  return subnets === undefined || (zone !== null && Object.hasOwn(subnets, zone));
}

/** A price, and since when it is valid, as EC2 writes it. Undefined: it cannot be read, and is left out. */
function priceIn(item: XmlElement): (OfferedPrice & { since: string }) | undefined {
  const type = textAt(item, "instanceType");
  const zone = textAt(item, "availabilityZone");
  const price = Number(textAt(item, "spotPrice") ?? "none");
  if (type === undefined || zone === undefined || !(price >= 0)) return undefined;
  return { type, zone, spot: true, price, since: textAt(item, "timestamp") ?? "" };
}
