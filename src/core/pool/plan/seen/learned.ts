// Which instance types have turned out to have less memory than advertised?
import type { PoolConfig } from "../../../../schema/pool.ts";
import { sizeBytes } from "../../../../shared/size.ts";
import { ownValue } from "../../../own-value.ts";
import { usableMemory } from "../../../resources.ts";
import type { ReadonlyRows } from "../../../rows.ts";
import { isOtherProvider, isSameMachine, isSameType } from "../../config-diff.ts";
import type { PoolRecord, WorkerRow } from "../../record.ts";
import { typeNamed } from "../types.ts";
import { isLikeNew } from "./like-new.ts";

/**
 * Notes that a machine has less memory than expected of its type (decisions/pool.md#instance-choice). The
 * note outlives the machine; otherwise more machines would be created in vain (cases.md#learned-memory). The
 * lowest measurement counts. Each measurement is noted only when it arrives, so that an old measurement does
 * not return after a new configuration has discarded it.
 */
export function learn(
  record: PoolRecord,
  before: WorkerRow,
  after: WorkerRow,
  workers: ReadonlyRows<WorkerRow>,
): PoolRecord {
  return learnGpus(learnMemory(record, before, after), before, after, workers);
}

function learnMemory(record: PoolRecord, before: WorkerRow, after: WorkerRow): PoolRecord {
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
 * Notes that a machine has fewer GPUs than its type says, by the first list of its host: a GPU that breaks
 * later says nothing of other machines, and neither does a host while a ready machine of its type has more.
 * A machine that has more ends that, and so does each new configuration (devices.md#capacity).
 */
function learnGpus(
  record: PoolRecord,
  before: WorkerRow,
  after: WorkerRow,
  workers: ReadonlyRows<WorkerRow>,
): PoolRecord {
  const { instanceType, type, gpus } = after;
  if (gpus === undefined || gpus.count === before.gpus?.count) return record;
  if (!isLikeNew(record.config, after, instanceType)) return record;
  const known = ownValue(record.learnedGpus, instanceType);
  const isFirst = before.gpus === undefined && !isAnyBetter(record, workers, after);
  if (!(isFirst && gpus.count < type.gpus) && !(known !== undefined && gpus.count > known)) return record;
  const { [instanceType]: _, ...others } = record.learnedGpus ?? {};
  if (gpus.count < type.gpus) return { ...record, learnedGpus: { ...others, [instanceType]: gpus.count } };
  const { learnedGpus: _all, ...rest } = record;
  return Object.keys(others).length === 0 ? rest : { ...rest, learnedGpus: others };
}

/** Whether a ready machine of the type has more GPUs. */
function isAnyBetter(
  { config }: PoolRecord,
  workers: ReadonlyRows<WorkerRow>,
  { instanceType, gpus }: WorkerRow,
): boolean {
  const isBetter = (row: WorkerRow) =>
    row.phase === "ready" &&
    row.gpus !== undefined &&
    row.gpus.count > (gpus?.count ?? 0) &&
    isLikeNew(config, row, instanceType);
  return [...workers.live()].some(isBetter);
}

/**
 * The GPUs that a machine can have, by its own host, or else by other hosts of its type; undefined: as many
 * as its type says.
 */
export function knownGpus({ config, learnedGpus }: PoolRecord, row: WorkerRow): number | undefined {
  if (row.kind === "self-hosted" || row.gpus !== undefined) return row.gpus?.count;
  const known = ownValue(learnedGpus, row.instanceType);
  return isSameMachine(typeNamed(config, row.instanceType), row.type) ? known : undefined;
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
