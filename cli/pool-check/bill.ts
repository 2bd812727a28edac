// What can the machines of a pool cost at worst, and what bounds that (clouds.md#checks)?

import type { PutPoolConfig } from "../../src/schema/pool.ts";
import { type ProviderKind, TRAITS } from "../../src/shared/cloud/kinds.ts";
import { money } from "../../src/shared/cloud/money.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";

/** The worst bill of an hour. */
export interface Bill {
  /** All machines of the most expensive type. Null: a type has no price. */
  worstPerHour: number | null;
  /** What the machines cost, in words. */
  text: string;
  /** What bounds the bill while Drover works, and what bounds it without Drover. */
  bounds: string;
}

/** What ends machines if Drover does not. */
const WITHOUT_DROVER: Readonly<Record<ProviderKind, (config: PutPoolConfig) => string>> = {
  none: () => "the machines are yours",
  http: () => "without Drover, what your service does",
  hetzner: () => "without Drover nothing ends a server, and the limits of the project bound their number",
  ec2: ({ timeouts }) => `without Drover a machine switches itself off after ${timeouts.lease}`,
  fly: ({ timeouts }) => `without Drover a machine ends its first process after ${timeouts.lease}`,
  gce: ({ provider }) => {
    const life = provider.kind === "gce" ? provider.maxLife : "its life";
    return `without Drover Google deletes a machine after ${life}`;
  },
};

function unknownText(kind: ProviderKind): string {
  return TRAITS[kind].namesPrices === "all"
    ? "for a type without a `price` Drover asks the cloud, and drover pools shows the worst bill"
    : "unknown: a type has no price";
}

/** The bill of a pool that has as many machines as it may. Prices are those of its configuration. */
export function billOf(pool: string, config: PutPoolConfig): Bill {
  const { maxInstances, instanceTypes, provider } = config;
  const priced = Object.values(instanceTypes).flatMap(({ price, fallback }) => [
    price,
    ...(fallback === undefined ? [] : [fallback.price]),
  ]);
  const known = priced.filter((price) => price !== undefined);
  const highest = Math.max(0, ...known);
  const worstPerHour = known.length === priced.length ? maxInstances * highest : null;
  const text =
    worstPerHour === null
      ? unknownText(provider.kind)
      : `${money(worstPerHour)} an hour: ${maxInstances} machines at ${money(highest)}`;
  const ending = `drover pools delete --force ${quoteArgv([pool])} ends all`;
  const bounds = `\`maxInstances\` is ${maxInstances}; ${ending}; ${WITHOUT_DROVER[provider.kind](config)}`;
  return { worstPerHour, text, bounds };
}
