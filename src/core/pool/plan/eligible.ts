// Which machines can be requested for a run, and in which order are they preferred?
import type { Resources } from "../../../schema/common.ts";
import type { PoolConfig } from "../../../schema/pool.ts";
import type { MachineAsks } from "../../../schema/run/machine-asks.ts";
import { ownValue } from "../../own-value.ts";
import { accommodates, remaining, withGpus } from "../../resources.ts";
import { resourcesOfType } from "../../spec.ts";
import type { PoolRecord } from "../record.ts";
import { suits } from "./asks.ts";
import type { Offer } from "./pass.ts";
import { withPrice } from "./prices.ts";
import { isTwin, typesOf, zonesOf } from "./types.ts";

/** What of a run decides which machines it can use. */
export interface Wanted {
  resources: Resources;
  asks?: MachineAsks | undefined;
  /** Absent: it has no containers. */
  containers?: object | undefined;
}

/** What decides which machines can be requested. */
type OffersFrom = Pick<PoolRecord, "config" | "learned" | "learnedGpus" | "engineless" | "prices">;

/** By price. Those without a known price come last, since the price may be any (pool.md#prices). */
function byPrice(a: Offer, b: Offer): number {
  const [one, other] = [a.type.price ?? Number.POSITIVE_INFINITY, b.type.price ?? Number.POSITIVE_INFINITY];
  return one === other ? 0 : one - other;
}

/**
 * The machines that can be requested, each type in each of its zones, in order of preference: by lowest
 * price, then by most memory, most vCPUs and most disk, then by name, and then as the zones are listed
 * (pool.md#choice-of-the-type).
 */
export function offersOf({ config, learned, learnedGpus, engineless, prices }: OffersFrom): Offer[] {
  const offers = [...typesOf(config)].flatMap(([name, configured]) => {
    const has = withGpus(resourcesOfType(configured), ownValue(learnedGpus, name));
    const room = remaining(has, [], ownValue(learned, name));
    const noEngine = ownValue(engineless, name);
    return zonesOf(config, configured).map((zone): Offer => {
      const type = withPrice(prices, name, configured, zone);
      const offer = { name, type, zone, room, isProvided: true as const };
      return noEngine === undefined ? offer : { ...offer, noEngine };
    });
  });
  return offers.sort(
    (a, b) =>
      byPrice(a, b) ||
      b.room.memoryBytes - a.room.memoryBytes ||
      b.room.vcpus - a.room.vcpus ||
      b.room.diskBytes - a.room.diskBytes ||
      (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  );
}

/** The types whose machines have less than advertised, with their advertised resources. */
export function undersizedTypes({ config, learned, learnedGpus }: PoolRecord): Offer[] {
  if (learned === undefined && learnedGpus === undefined) return [];
  const isShort = (name: string) => [learned, learnedGpus].some((one) => ownValue(one, name) !== undefined);
  const seen = new Set<string>();
  return offersOf({ config }).filter(({ name }) => {
    const isNew = !seen.has(name);
    seen.add(name);
    return isNew && isShort(name);
  });
}

/** Whether a machine of this kind could hold the run when it is empty. */
export function canHold({ resources, asks, containers }: Wanted, offer: Offer): boolean {
  if (containers !== undefined && offer.noEngine !== undefined) return false;
  return accommodates(offer.room, resources) && suits(asks, offer);
}

/**
 * Whether a run may use machines with GPUs. To keep GPUs free, a run that asks for no GPU must not use such a
 * machine if a type without GPUs can hold the run. This rule does not apply if `allowRunsWithoutGpus` is set,
 * or if the pool creates no machines.
 */
export function mayUseGpus(config: PoolConfig, run: Wanted, offers: readonly Offer[]): boolean {
  if (run.resources.gpus > 0 || config.allowRunsWithoutGpus || config.maxInstances === 0) return true;
  return !offers.some((offer) => offer.room.gpus === 0 && canHold(run, offer));
}

/** Whether an on-demand twin may be requested now although there are preemptible types. */
export interface TwinRule {
  /** The run has waited for longer than `spotPatience`. */
  isImpatient: boolean;
  /** Whether a machine cannot be requested because of a hold-off. */
  isHeld: (offer: Offer) => boolean;
}

/**
 * The machines that may be requested for a run, best first. An empty machine of this kind can hold the run,
 * suits what the run asks for, and costs at most `priceFactor` times the cheapest one of its sort
 * (pool.md#choice-of-the-type). A machine without a known price comes last of its sort.
 *
 * On-demand twins are a sort of their own, with a ceiling of their own. A twin may be requested if no other
 * machine may be, if the others are all held off, if the run is impatient, or if the twin is known not to be
 * dearer than the cheapest other machine (clouds.md#twins).
 */
export function eligibleOffers(
  config: PoolConfig,
  run: Wanted,
  offers: readonly Offer[] = offersOf({ config }),
  rule?: TwinRule,
): Offer[] {
  const gpus = mayUseGpus(config, run, offers);
  const able = offers.filter((offer) => canHold(run, offer) && (gpus || offer.room.gpus === 0));
  const usual = withinCeiling(
    config,
    able.filter(({ name }) => !isTwin(name)),
  );
  const twins = withinCeiling(
    config,
    able.filter(({ name }) => isTwin(name)),
  );
  const [cheapest] = usual;
  if (twins.length === 0 || cheapest === undefined) return twins.length === 0 ? usual : twins;
  const isHeld = rule !== undefined && usual.every(rule.isHeld);
  const mayUseAll = rule === undefined || rule.isImpatient || isHeld;
  const { price } = cheapest.type;
  const cheaper = twins.filter(
    ({ type }) => price !== undefined && type.price !== undefined && type.price <= price,
  );
  return [...cheaper, ...usual, ...(mayUseAll ? twins.filter((twin) => !cheaper.includes(twin)) : [])];
}

/** The machines that cost at most `priceFactor` times the first, cheapest one, or have no known price. */
function withinCeiling({ priceFactor }: PoolConfig, offers: Offer[]): Offer[] {
  const cheapest = offers[0]?.type.price;
  if (cheapest === undefined) return offers;
  return offers.filter(({ type: { price = 0 } }) => price <= cheapest * priceFactor);
}
