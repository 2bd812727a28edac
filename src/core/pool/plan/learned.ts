import type { PoolConfig } from "../../../schema/pool.ts";
import { sizeBytes } from "../../../shared/size.ts";
import { ownValue } from "../../own-value.ts";
import { usableMemory } from "../../resources.ts";
import { isElsewhere, isSameType } from "../config-diff.ts";
import type { Learned, PoolRecord, WorkerRow } from "../record.ts";

/**
 * What a machine teaches of its type (decisions/pool.md#instance-choice): that it has less memory than the
 * type is counted on to have. It is kept beyond the machine, or the next one would be asked for in vain,
 * and the one after that (cases.md#learned-memory). The least counts, so that what is learned never goes up
 * and down. Each machine teaches once, when it is first heard what it has: not again after a configuration
 * has had it forgotten.
 */
export function learn(record: PoolRecord, before: WorkerRow, after: WorkerRow): PoolRecord {
  const { instanceType, type, measuredMemory, kind } = after;
  if (kind === "self-hosted" || measuredMemory === undefined) return record;
  if (measuredMemory === before.measuredMemory) return record;
  const configured = ownValue(record.config.instanceTypes, instanceType);
  if (!isSameType(configured, type)) return record;
  const known = usableMemory(sizeBytes(type.memory), learnedOf(record.learned, instanceType));
  if (measuredMemory >= known) return record;
  return { ...record, learned: { ...record.learned, [instanceType]: measuredMemory } };
}

/** What is still true of the types under another configuration: of those that are what they were. */
export function learnedAfterConfigure(record: PoolRecord, config: PoolConfig): Pick<PoolRecord, "learned"> {
  const before = record.config;
  const known =
    isElsewhere(before.provider, config.provider) || before.image !== config.image
      ? {}
      : (record.learned ?? {});
  const kept = Object.entries(known).filter(([name]) =>
    isSameType(ownValue(before.instanceTypes, name), ownValue(config.instanceTypes, name)),
  );
  return kept.length === 0 ? {} : { learned: Object.fromEntries(kept) };
}

/**
 * The bytes of memory that a machine is known to have: as its own host has measured, or others of its type;
 * undefined: nothing is known beyond what the type says. Of a self-hosted machine see `capacityOfRow`.
 */
export function knownMemory({ config, learned }: PoolRecord, row: WorkerRow): number | undefined {
  if (row.kind === "self-hosted") return undefined;
  if (row.measuredMemory !== undefined) return row.measuredMemory;
  const known = learnedOf(learned, row.instanceType);
  return isSameType(ownValue(config.instanceTypes, row.instanceType), row.type) ? known : undefined;
}

/** The bytes of memory that machines of this type are known to have; undefined: nothing was learned. */
export function learnedOf(learned: Learned | undefined, type: string): number | undefined {
  return ownValue(learned, type);
}
