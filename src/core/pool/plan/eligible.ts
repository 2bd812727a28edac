import type { Resources } from "../../../schema/common.ts";
import type { PoolConfig } from "../../../schema/pool.ts";
import { accommodates, remaining } from "../../resources.ts";
import { resourcesOfType } from "../../spec.ts";
import { assumedPrice } from "../read/money.ts";
import type { Learned, PoolRecord } from "../record.ts";
import { learnedOf } from "./learned.ts";
import type { Offer } from "./pass.ts";

/** Of configurations that were stored before there was one. */
const DEFAULT_PRICE_FACTOR = 1.5;

/**
 * The instance types, with what is known of their memory, in the order in which they are preferred: the
 * cheapest first; of the same price the one with more memory, then vCPUs, then disk; then by name
 * (pool.md#choice-of-the-type).
 */
export function offersOf({ instanceTypes }: PoolConfig, learned?: Learned): Offer[] {
  const offers = Object.entries(instanceTypes).map(([name, type]) => {
    return { name, type, room: remaining(resourcesOfType(type), [], learnedOf(learned, name)) };
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

/** The types whose machines turned out to have less memory than they should, with what they should have. */
export function disappointing({ config, learned }: PoolRecord): Offer[] {
  if (learned === undefined) return [];
  return offersOf(config).filter(({ name }) => learnedOf(learned, name) !== undefined);
}

/**
 * Whether a run with such a need may use machines that have GPUs. One that asks for none is kept off them as
 * long as a type without GPUs can hold it, so that they stay free for the runs that need them.
 * `allowRunsWithoutGpus` lifts that; and where the provider is asked for no machine, there is no type.
 */
export function mayUseGpus(config: PoolConfig, need: Resources, offers: readonly Offer[]): boolean {
  if (need.gpus > 0 || config.allowRunsWithoutGpus === true || config.maxInstances === 0) return true;
  return !offers.some(({ room }) => room.gpus === 0 && accommodates(room, need));
}

/**
 * The types of which a machine may be asked for such a need, the best first: an empty machine holds it, and
 * it costs at most `priceFactor` times the cheapest one that does (pool.md#choice-of-the-type).
 * Equality is kept.
 */
export function eligibleTypes(config: PoolConfig, need: Resources, offers = offersOf(config)): Offer[] {
  const eligible: Offer[] = [];
  const gpus = mayUseGpus(config, need, offers);
  let ceiling = Number.POSITIVE_INFINITY;
  for (const offer of offers) {
    if (assumedPrice(offer.type) > ceiling) break;
    if (!accommodates(offer.room, need) || (!gpus && offer.room.gpus > 0)) continue;
    if (eligible.length === 0)
      ceiling = assumedPrice(offer.type) * Math.max(1, config.priceFactor ?? DEFAULT_PRICE_FACTOR);
    eligible.push(offer);
  }
  return eligible;
}
