// Which devices does a host report, what do they count for, and who has them (devices.md#report)?
import type { AttemptReport, Report } from "../../../schema/host.ts";
import type { HostDevice, HostDevices, WorkerDevice } from "../../../schema/run/devices.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { Gpus, UsableGpus } from "../../messages.ts";
import { note, type ReadonlyExistingWorker, type WorkerRecord } from "../state.ts";

/** How many devices a text names. */
const MAX_NAMED = 4;

/** Applies what a full report says of devices. A host that has lost its source of them says nothing. */
export function foldDevices(record: WorkerRecord, { full, devices }: Report, now: Instant): WorkerRecord {
  if (!full || JSON.stringify(devices) === JSON.stringify(record.devices)) return record;
  const { devices: before, devicesBefore, ...rest } = record;
  if (devices === undefined) return note(rest, "Devices", "its host names no devices any more", now);
  const known = devicesBefore ?? before?.list ?? [];
  const kept = devices.fault === undefined || known.length === 0 ? {} : { devicesBefore: known };
  return note({ ...rest, devices, ...kept }, "Devices", devicesText(devices), now);
}

/** The devices in words: how many can be used, of which kind, and why others cannot. */
function devicesText({ list, fault }: HostDevices): string {
  if (fault !== undefined) return `its devices are not known: ${fault}`;
  const usable = list.filter(({ healthy }) => healthy);
  const gpus = usable.length === 1 ? "1 GPU" : `${usable.length} GPUs`;
  const kinds = [...new Set(usable.map(({ model }) => model))].slice(0, MAX_NAMED).join(", ");
  const broken = list.filter(({ healthy }) => !healthy).map(({ id }) => id);
  const named = broken.slice(0, MAX_NAMED).join(", ");
  return [
    `${gpus} can be used${kinds === "" ? "" : ` (${kinds})`}`,
    ...(broken.length === 0 ? [] : [`${broken.length} cannot: ${named}`]),
  ].join("; ");
}

/**
 * What of the devices counts for placing runs, and all that may come back, which counts for taking runs in.
 * Undefined: the host names none (devices.md#capacity).
 */
export function usableGpus({
  devices,
  devicesBefore,
}: Pick<WorkerRecord, "devices" | "devicesBefore">): UsableGpus | undefined {
  if (devices === undefined) return undefined;
  const usable = gpusOf(devices.list.filter(({ healthy }) => healthy));
  const listed = gpusOf(devicesBefore ?? devices.list);
  return listed.count === usable.count ? usable : { ...usable, listed };
}

function gpusOf(list: readonly HostDevice[]): Gpus {
  const kinds = new Map<string, Gpus["kinds"][number]>();
  for (const { vendor, model, memoryBytes } of list) {
    kinds.set(JSON.stringify([vendor, model, memoryBytes]), { vendor, model, memoryBytes });
  }
  return { count: list.length, kinds: [...kinds.values()] };
}

/** Says that a machine has fewer GPUs than its type says. Undefined: it has as many, or that is unknown. */
export function fewerGpusText({ intent, devices }: WorkerRecord): string | undefined {
  if (intent.kind === "self-hosted" || devices === undefined) return undefined;
  const { gpus } = intent.type;
  const { count = 0 } = usableGpus({ devices }) ?? {};
  if (count >= gpus) return undefined;
  const why = devices.fault === undefined ? "" : `: ${devices.fault}`;
  return `its host can use ${count} of the ${gpus} GPUs that its type says${why}`;
}

/** The devices as readers see them. Undefined: the host names none. */
export function shownDevices({ record, memo }: ReadonlyExistingWorker): WorkerDevice[] | undefined {
  const attempts = Object.values(memo.reported).flatMap((one) => one.attempts);
  const holders = new Map(
    attempts.filter(mayHold).flatMap(({ id, devices = [] }) => devices.map((of) => [of, id])),
  );
  return record.devices?.list.map((one: HostDevice) => ({ ...one, attempt: holders.get(one.id) ?? null }));
}

/** Whether an attempt may still have its devices: a process of it may live, or it is kept. */
function mayHold({ state, hold }: AttemptReport): boolean {
  return hold === "kept" || !(state === "exited" || state === "gone" || state === "uploading");
}
