// Which types of machines does a configuration offer, and in which zones?
import type { InstanceType, PoolConfig } from "../../../schema/pool.ts";

/** What follows the name of a preemptible type in the name of its twin. No configured name has a colon. */
const TWIN = ":on-demand";

/**
 * All types of machines by name: the configured types, and the on-demand twins of preemptible types with a
 * `fallback` (clouds.md#twins).
 */
export function typesOf(config: Pick<PoolConfig, "instanceTypes">): ReadonlyMap<string, InstanceType> {
  const known = byConfig.get(config.instanceTypes) ?? expand(config.instanceTypes);
  byConfig.set(config.instanceTypes, known);
  return known;
}

/** The types of each configuration, cached: a plan reads them for every machine. */
const byConfig = new WeakMap<object, ReadonlyMap<string, InstanceType>>();

function expand(instanceTypes: PoolConfig["instanceTypes"]): ReadonlyMap<string, InstanceType> {
  const types = new Map<string, InstanceType>();
  for (const [name, type] of Object.entries(instanceTypes)) {
    types.set(name, type);
    if (type.fallback === undefined) continue;
    const { fallback, preemptible: _, price: __, ...same } = type;
    types.set(name + TWIN, { ...same, ...fallback, providerType: type.providerType ?? name });
  }
  return types;
}

/** The type of machines with this name. Undefined: the configuration has none, or no longer. */
export function typeNamed(config: Pick<PoolConfig, "instanceTypes">, name: string): InstanceType | undefined {
  return typesOf(config).get(name);
}

/** Whether a name is that of a twin. */
export function isTwin(name: string): boolean {
  return name.endsWith(TWIN);
}

/** The zones in which machines of a type may be requested, best first. Null: the provider chooses. */
export function zonesOf({ provider }: Pick<PoolConfig, "provider">, type: InstanceType): (string | null)[] {
  const zones = type.zones ?? accountZones(provider);
  return zones === undefined || zones.length === 0 ? [null] : zones;
}

function accountZones(provider: PoolConfig["provider"]): string[] | undefined {
  if (provider.kind === "hetzner") return provider.locations;
  if (provider.kind === "fly") return provider.regions;
  if (provider.kind === "gce") return provider.zones;
  if (provider.kind !== "ec2" || provider.subnets === undefined) return undefined;
  return Object.keys(provider.subnets);
}
