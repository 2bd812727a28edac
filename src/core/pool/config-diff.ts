// Do two configurations of a pool have the same provider, and the same instance type?
import type { InstanceType } from "../../schema/pool.ts";
import { type AccountOf, accountName } from "../../shared/cloud/account.ts";

/** Whether these providers make machines at different places. */
export function isOtherProvider(a: AccountOf, b: AccountOf): boolean {
  return a.kind !== b.kind || accountName(a) !== accountName(b);
}

/** Whether two instance types have the same machines, whatever they cost. */
export function isSameMachine(a: InstanceType | undefined, b: InstanceType | undefined): boolean {
  const unpriced = (type: InstanceType | undefined) => type && { ...type, price: undefined };
  return isSameType(unpriced(a), unpriced(b));
}

/** Whether two instance types have the same description. */
export function isSameType(a: InstanceType | undefined, b: InstanceType | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  const text = (type: InstanceType) => JSON.stringify(Object.entries(type).sort());
  return a === b || text(a) === text(b);
}
