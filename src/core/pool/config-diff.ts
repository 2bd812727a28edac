import type { InstanceType, ProviderConfig } from "../../schema/pool.ts";

/** Whether these are different providers: by kind and url. */
export function isElsewhere(a: ProviderConfig, b: ProviderConfig): boolean {
  return a.kind !== b.kind || a.url !== b.url;
}

/** Whether two descriptions of an instance type say the same. */
export function isSameType(a: InstanceType | undefined, b: InstanceType | undefined): boolean {
  const text = (type: InstanceType) => JSON.stringify(Object.entries(type).sort());
  return a !== undefined && b !== undefined && text(a) === text(b);
}
