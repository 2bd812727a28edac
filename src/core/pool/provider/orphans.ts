import type { InstanceType } from "../../../schema/pool.ts";
import type { Instance } from "../../../schema/provider.ts";
import { MAX_STRANGERS_SHOWN, MAX_WORKER_NUMBER } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { PoolRecord, WorkerRow } from "../record.ts";
import { ADOPTED, newWorkerRow, nextWorkerName } from "../rows/workers.ts";
import type { Configured } from "../state.ts";

/** What is known of a machine whose type is not configured: nothing fits there. */
const UNKNOWN_TYPE: InstanceType = { vcpus: 0, memory: 0, disk: 0, gpus: 0 };

/**
 * Takes machines that carry our tags, and that nobody knows, into the ledger (decisions/pool.md#adoption;
 * cases.md#case-2). Their worker is told so until it knows: it was forgotten as well, or answers with what it
 * is. A machine that some other pool of this name may have made is a stranger: it is shown, and left alone,
 * since destroying a machine of somebody else is worse than paying for one. `doubles`: other machines of
 * workers that live, which are left alone as well.
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
    // Its name was given once, whatever we remember: it is not given again.
    if (number >= record.nextWorker) record = { ...record, nextWorker: number + 1 };
  }
  return { ...state, record, memo: { ...state.memo, strangers } };
}

/** The number of a worker of this very pool by its name; undefined if it is another's. */
function numberOf(record: PoolRecord, worker: string): number | undefined {
  const number = Number(worker.slice(worker.lastIndexOf("-") + 1));
  const ours = Number.isSafeInteger(number) && number > 0 && number <= MAX_WORKER_NUMBER;
  return ours && worker === nextWorkerName({ ...record, nextWorker: number }) ? number : undefined;
}

function adoptedRow(
  record: PoolRecord,
  worker: string,
  { id, address, instanceType }: Instance,
  now: Instant,
) {
  const types = Object.entries(record.config.instanceTypes);
  const found = types.find(([name, { providerType = name }]) => providerType === instanceType);
  const [name, type] = found ?? [instanceType, UNKNOWN_TYPE];
  // A worker of an earlier version knows of no adoption: it must not take this for an order to create.
  const notAfter = now;
  const row: WorkerRow = {
    ...newWorkerRow(record, { worker, instanceType: name, type, notAfter }, now),
    kind: "cloud",
    phase: "unknown",
    instance: id,
    address,
    adopt: { id, address },
    reason: ADOPTED,
  };
  return row;
}
