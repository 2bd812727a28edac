// Which instance types can hold a run, and in which order are they preferred?
import type { Resources } from "../../../schema/common.ts";
import type { PoolConfig } from "../../../schema/pool.ts";
import { ownValue } from "../../own-value.ts";
import { accommodates, remaining } from "../../resources.ts";
import { resourcesOfType } from "../../spec.ts";
import { assumedPrice } from "../read/money.ts";
import type { Learned, PoolRecord } from "../record.ts";
import type { Offer } from "./pass.ts";

/**
 * The instance types in order of preference: by lowest price, then by most memory, most vCPUs and most disk,
 * then by name (pool.md#choice-of-the-type).
 */
export function offersOf({ instanceTypes }: PoolConfig, learned?: Learned): Offer[] {
  const offers = Object.entries(instanceTypes).map(([name, type]) => {
    return { name, type, room: remaining(resourcesOfType(type), [], ownValue(learned, name)) };
  });
  return offers.sort(
    (a, b) =>
      assumedPrice(a.type) - assumedPrice(b.type) ||
      b.room.memoryBytes - a.room.memoryBytes ||
      b.room.vcpus - a.room.vcpus ||
      b.room.diskBytes - a.room.diskBytes ||
      (a.name < b.name ? -1 : 1),
  );
}

/** The types whose machines have less memory than advertised, with their advertised resources. */
export function undersizedTypes({ config, learned }: PoolRecord): Offer[] {
  if (learned === undefined) return [];
  return offersOf(config).filter(({ name }) => ownValue(learned, name) !== undefined);
}

/**
 * Whether a run may use machines with GPUs. To keep GPUs free, a run that asks for no GPU must not use such a
 * machine if a type without GPUs can hold the run. This rule does not apply if `allowRunsWithoutGpus` is set,
 * or if the pool creates no machines.
 */
export function mayUseGpus(config: PoolConfig, need: Resources, offers: readonly Offer[]): boolean {
  if (need.gpus > 0 || config.allowRunsWithoutGpus || config.maxInstances === 0) return true;
  return !offers.some(({ room }) => room.gpus === 0 && accommodates(room, need));
}

/**
 * The types from which a machine may be created for a run, best first. An empty machine of such a type can
 * hold the run, and its price is at most `priceFactor` times the price of the cheapest machine that can hold
 * the run (pool.md#choice-of-the-type).
 */
export function eligibleTypes(config: PoolConfig, need: Resources, offers = offersOf(config)): Offer[] {
  const eligible: Offer[] = [];
  const gpus = mayUseGpus(config, need, offers);
  let ceiling = Number.POSITIVE_INFINITY;
  for (const offer of offers) {
    if (assumedPrice(offer.type) > ceiling) break;
    if (!accommodates(offer.room, need) || (!gpus && offer.room.gpus > 0)) continue;
    if (eligible.length === 0) ceiling = assumedPrice(offer.type) * config.priceFactor;
    eligible.push(offer);
  }
  return eligible;
}
