// What differs between two configurations of a pool: the provider, an instance type?
import type { InstanceType, ProviderConfig } from "../../schema/pool.ts";

/** Whether these are different providers, by kind and url. */
export function isOtherProvider(a: ProviderConfig, b: ProviderConfig): boolean {
  return a.kind !== b.kind || a.url !== b.url;
}

/** Whether two instance types have the same description. */
export function isSameType(a: InstanceType | undefined, b: InstanceType | undefined): boolean {
  const text = (type: InstanceType) => JSON.stringify(Object.entries(type).sort());
  return a !== undefined && b !== undefined && text(a) === text(b);
}
