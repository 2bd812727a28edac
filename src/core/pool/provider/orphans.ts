// What happens to machines that carry our tags but belong to no worker?
import type { InstanceType } from "../../../schema/pool.ts";
import type { Instance } from "../../../schema/provider.ts";
import { MAX_STRANGERS_SHOWN } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { typesOf } from "../plan/types.ts";
import type { PoolRecord, WorkerRow } from "../record.ts";
import { newWorkerRow, nextWorkerName } from "../rows/new-workers.ts";
import { adoption } from "../rows/workers.ts";
import type { Configured } from "../state.ts";

/** The highest number that may occur in the name of a worker of this pool. */
export const MAX_WORKER_NUMBER = 1_000_000_000;

/** Stands for an instance type that is not configured. No run fits on a machine of this type. */
const UNKNOWN_TYPE: InstanceType = { vcpus: 0, memory: 0, disk: 0, gpus: 0 };

/**
 * Adopts machines that carry our tags but belong to no worker (decisions/pool.md#adoption; cases.md#case-2).
 * Each machine gets a worker, and the pool repeats the adoption until the worker confirms it. A stranger is a
 * machine that may belong to another pool with this name. Strangers are shown and left alone: destroying
 * somebody else's machine is worse than paying for an unused machine. `doubles`: further machines under the
 * name of a live worker. They are also left alone.
 */
export function foldUnknown(
  state: Configured,
  unknown: Map<string, Instance>,
  doubles: readonly string[],
  now: Instant,
): Configured {
  let { record } = state;
  const strangers = doubles.slice(0, MAX_STRANGERS_SHOWN);
  for (const [worker, instance] of unknown) {
    const number = numberOf(record, worker);
    if (number === undefined) {
      if (strangers.length < MAX_STRANGERS_SHOWN) strangers.push(instance.id);
      continue;
    }
    state.workers.set(worker, adoptedRow(record, worker, instance, now), now);
    // The name is taken, so the next number must be higher.
    if (number >= record.nextWorker) record = { ...record, nextWorker: number + 1 };
  }
  return { ...state, record, memo: { ...state.memo, strangers } };
}

/** The number in a worker's name, if this pool has made that name. */
function numberOf(record: PoolRecord, worker: string): number | undefined {
  const number = Number(worker.slice(worker.lastIndexOf("-") + 1));
  const ours = Number.isSafeInteger(number) && number > 0 && number <= MAX_WORKER_NUMBER;
  return ours && worker === nextWorkerName({ ...record, nextWorker: number }) ? number : undefined;
}

function adoptedRow(record: PoolRecord, worker: string, instance: Instance, now: Instant): WorkerRow {
  const types = [...typesOf(record.config)];
  const isSpot = instance.spot ?? false;
  const found =
    types.find(([name, type]) => isOf(instance, name, type) && (type.preemptible ?? false) === isSpot) ??
    types.find(([name, type]) => isOf(instance, name, type));
  const [instanceType, type] = found ?? [instance.instanceType, UNKNOWN_TYPE];
  const row = newWorkerRow(
    record,
    { worker, instanceType, type, zone: instance.zone ?? null, notAfter: now },
    now,
  );
  return { ...row, kind: "cloud", ...adoption(instance, now) };
}

function isOf(instance: Instance, name: string, { providerType = name }: InstanceType): boolean {
  return providerType === instance.instanceType;
}
