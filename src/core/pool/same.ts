import type { InstanceType, PoolConfig } from "../../schema/pool.ts";

/** Whether two configurations have their machines of different providers: by kind and url. */
export function isElsewhere({ provider: a }: PoolConfig, { provider: b }: PoolConfig): boolean {
  return a.kind !== b.kind || a.url !== b.url;
}

/** Whether two descriptions of an instance type say the same. */
export function isSameType(a: InstanceType | undefined, b: InstanceType | undefined): boolean {
  const text = (type: InstanceType) => JSON.stringify(Object.entries(type).sort());
  return a !== undefined && b !== undefined && text(a) === text(b);
}
