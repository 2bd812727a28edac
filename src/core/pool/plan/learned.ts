// Which instance types have turned out to have less memory than advertised?
import type { PoolConfig } from "../../../schema/pool.ts";
import { sizeBytes } from "../../../shared/size.ts";
import { ownValue } from "../../own-value.ts";
import { usableMemory } from "../../resources.ts";
import { isOtherProvider, isSameMachine, isSameType } from "../config-diff.ts";
import type { PoolRecord, WorkerRow } from "../record.ts";
import { typeNamed } from "./types.ts";

/**
 * Notes that a machine has less memory than expected of its type (decisions/pool.md#instance-choice). The
 * note outlives the machine; otherwise more machines would be created in vain (cases.md#learned-memory). The
 * lowest measurement counts. Each measurement is noted only when it arrives, so that an old measurement does
 * not return after a new configuration has discarded it.
 */
export function learn(record: PoolRecord, before: WorkerRow, after: WorkerRow): PoolRecord {
  const { instanceType, type, measuredMemory, kind } = after;
  if (kind === "self-hosted" || measuredMemory === null) return record;
  if (measuredMemory === before.measuredMemory) return record;
  const configured = typeNamed(record.config, instanceType);
  if (!isSameMachine(configured, type)) return record;
  const known = usableMemory(sizeBytes(type.memory), ownValue(record.learned, instanceType));
  if (measuredMemory >= known) return record;
  return { ...record, learned: { ...record.learned, [instanceType]: measuredMemory } };
}

/**
 * The measurements that remain valid under a new configuration: only those of types that have not changed.
 */
export function learnedAfterConfigure(record: PoolRecord, config: PoolConfig): Pick<PoolRecord, "learned"> {
  const before = record.config;
  const known =
    isOtherProvider(before.provider, config.provider) || before.image !== config.image
      ? {}
      : (record.learned ?? {});
  const kept = Object.entries(known).filter(([name]) =>
    isSameType(typeNamed(before, name), typeNamed(config, name)),
  );
  return kept.length === 0 ? {} : { learned: Object.fromEntries(kept) };
}

/**
 * The bytes of memory that a machine is known to have, as measured by its own host or by other hosts of its
 * type; undefined: no host has measured any. For a self-hosted machine see `capacityOfRow`.
 */
export function knownMemory({ config, learned }: PoolRecord, row: WorkerRow): number | undefined {
  if (row.kind === "self-hosted") return undefined;
  if (row.measuredMemory !== null) return row.measuredMemory;
  const known = ownValue(learned, row.instanceType);
  return isSameMachine(typeNamed(config, row.instanceType), row.type) ? known : undefined;
}
