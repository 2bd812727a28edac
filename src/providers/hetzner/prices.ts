// What do servers of Hetzner cost?
import { z } from "zod";
import type { OfferedPrice, PricesAnswer } from "../../core/provider-answers.ts";
import type { Asking } from "../json-api.ts";
import { checked, unreadable } from "../wire.ts";

/** The most that Hetzner puts on a page: it has some 40 types. */
const PAGE_SIZE = 50;
/** More pages than this are not read. */
const MAX_PAGES = 10;

const Net = z.coerce.number().min(0);
const ServerType = z.object({
  name: z.string(),
  prices: z.array(z.object({ location: z.string(), price_hourly: z.object({ net: Net }) })),
});
type ServerType = z.infer<typeof ServerType>;
const ServerTypes = z.object({
  server_types: z.array(ServerType),
  meta: z.object({ pagination: z.object({ next_page: z.int().nullish() }) }).nullish(),
});

/**
 * The price of these types in each location, net, in the currency of the account. An IPv4 address costs
 * extra.
 */
export async function serverPrices(asking: Asking, types: readonly string[]): Promise<PricesAnswer> {
  const prices: OfferedPrice[] = [];
  let page: number | null | undefined = 1;
  for (let pages = 0; pages < MAX_PAGES && page != null; pages += 1) {
    const path: string = `/server_types?per_page=${PAGE_SIZE}&page=${page}`;
    const called = await asking.call({ method: "GET", path });
    if ("failure" in called) return { kind: "failed", failure: called.failure };
    const read = checked(ServerTypes, called.body, asking.veil);
    if ("fault" in read)
      return { kind: "failed", failure: unreadable("GET /server_types", read.fault).failure };
    const named = read.data.server_types.filter(({ name }) => types.includes(name));
    prices.push(...named.flatMap(pricesIn));
    page = read.data.meta?.pagination.next_page;
  }
  return { kind: "prices", prices };
}

function pricesIn({ name, prices }: ServerType): OfferedPrice[] {
  return prices.map(({ location, price_hourly: { net } }) => ({
    type: name,
    zone: location,
    spot: false,
    price: net,
  }));
}
