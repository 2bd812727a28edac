// What do servers of Hetzner cost?
import { z } from "zod";
import type { OfferedPrice, PricesAnswer } from "../../core/provider-answers.ts";
import type { Asking } from "../json-api.ts";
import { checked, unreadable } from "../wire.ts";

/** Hetzner has some 40 types, and puts 50 on a page. */
const PATH = "/server_types?per_page=50";

const Net = z.coerce.number().min(0);
const ServerTypes = z.object({
  server_types: z.array(
    z.object({
      name: z.string(),
      prices: z.array(z.object({ location: z.string(), price_hourly: z.object({ net: Net }) })),
    }),
  ),
});

/**
 * The price of these types in each location, net, in the currency of the account. An IPv4 address costs
 * extra.
 */
export async function serverPrices(asking: Asking, types: readonly string[]): Promise<PricesAnswer> {
  const called = await asking.call({ method: "GET", path: PATH });
  if ("failure" in called) return { kind: "failed", failure: called.failure };
  const read = checked(ServerTypes, called.body, asking.veil);
  if ("fault" in read)
    return { kind: "failed", failure: unreadable("GET /server_types", read.fault).failure };
  const prices = read.data.server_types.flatMap(({ name, prices: all }): OfferedPrice[] =>
    types.includes(name)
      ? all.map(({ location, price_hourly: { net } }) => ({
          type: name,
          zone: location,
          spot: false,
          price: net,
        }))
      : [],
  );
  return { kind: "prices", prices };
}
