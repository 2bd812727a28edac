// Does a machine suit what a run asks for besides room: spot or not, architecture, GPU, zone?
import type { InstanceType } from "../../../schema/pool.ts";
import type { MachineAsks } from "../../../schema/run/machine-asks.ts";
import { sizeBytes } from "../../../shared/size.ts";
import type { Gpus } from "../../messages.ts";

/** A machine, or one that can be requested, as far as runs ask for more than room. */
export interface Kind {
  type: InstanceType;
  /** Null: unknown, or the provider chooses. */
  zone: string | null;
  /** Whether a provider makes it. Of a self-hosted machine only its room and its devices are known. */
  isProvided: boolean;
  /** The GPUs that its host can use; absent: unknown. */
  gpus?: Gpus | undefined;
}

/** The least part of its memory that a GPU reports: its driver keeps some (devices.md#asks). */
export const LEAST_OF_MEMORY = 0.92;

/** Whether a machine suits a run (clouds.md#asks). Absent asks suit every machine. */
export function suits(asks: MachineAsks | undefined, { type, zone, isProvided, gpus }: Kind): boolean {
  if (asks === undefined) return true;
  const { spot, arch, zones, gpu } = asks;
  if (spot !== undefined && (spot === "only") !== (isProvided && type.preemptible === true)) return false;
  if (!isProvided)
    return arch === undefined && zones === undefined && (gpu === undefined || areAll(gpu, gpus));
  if (arch !== undefined && arch !== (type.arch ?? "x64")) return false;
  if (zones !== undefined && !zones.some((one) => isIn(zone, one))) return false;
  return gpu === undefined || isGpu(gpu, type.gpu);
}

/** Whether a zone is this one, or in this region: `eu-west-1a` is in `eu-west-1`; `eu-west-10a` is not. */
function isIn(zone: string | null, place: string): boolean {
  if (zone === null || !zone.startsWith(place)) return false;
  return !/\d$/.test(place) || !/^\d/.test(zone.slice(place.length));
}

type Gpu = NonNullable<MachineAsks["gpu"]>;

/** Whether a GPU has all that is asked of it. Names are compared without regard to case. */
function isGpu(asked: Gpu, has: InstanceType["gpu"]): boolean {
  if (has === undefined) return false;
  const same = (a: string | undefined, b: string | undefined) =>
    a === undefined || a.toLowerCase() === b?.toLowerCase();
  const enough = asked.memory === undefined || sizeBytes(has.memory ?? "0") >= sizeBytes(asked.memory);
  return same(asked.vendor, has.vendor) && same(asked.model, has.model) && enough;
}

/**
 * Whether each GPU that a host can use has all that is asked of it, so that any that the host gives away is
 * right (devices.md#asks).
 */
function areAll(asked: Gpu, { kinds }: Gpus = { count: 0, kinds: [] }): boolean {
  const { vendor = "", model = "", memory = "0" } = asked;
  const leastBytes = sizeBytes(memory) * LEAST_OF_MEMORY;
  const fits = (one: Gpus["kinds"][number]) =>
    (vendor === "" || vendor.toLowerCase() === one.vendor.toLowerCase()) &&
    wordsOf(one.model).includes(wordsOf(model)) &&
    one.memoryBytes >= leastBytes;
  return kinds.length > 0 && kinds.every(fits);
}

/** The words of a model between blanks, so that whole words can be looked for: ` nvidia a100 sxm4 80gb `. */
function wordsOf(model: string): string {
  return ` ${model
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .join(" ")} `.replace(/^ {2}$/, " ");
}

/** A text that two runs share if they ask for the same. */
export function asksKey(asks: MachineAsks | undefined): string {
  return asks === undefined ? "" : JSON.stringify(asks);
}
