// How many machines has the pool `default` of a laptop, and how large are they (loopback.md#size)?
import { statfsSync } from "node:fs";
import type { PoolConfig } from "../client/types.ts";
import { type MachineSize, machineSize } from "../posix/machine-size.ts";
import { formatSize, sizeBytes } from "../src/shared/size.ts";
import { UpError } from "./up-error.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** The shares that all machines may use together. The rest is for the system and Drover. */
const MEMORY_SHARE = 0.9;
const DISK_SHARE = 0.9;
/** The free disk changes all the time. In steps, the size of a machine seldom does. */
const DISK_STEP_BYTES = 10 * GIB;

/** What the flags of `drover up` say about the machines. */
export interface SizeChoices {
  /** The maximum number of machines. */
  machines?: number | undefined;
  /** The vCPUs and the memory of each machine. */
  vcpus?: number | undefined;
  memory?: string | undefined;
}

/** The resources of this computer for runs. */
export interface Capacity extends MachineSize {
  diskBytes: number;
}

/** The processors and the memory that this process may use, and the free disk below its state directory. */
export function capacityHere(stateDir: string): Capacity {
  const { bavail, bsize } = statfsSync(stateDir);
  return { ...machineSize(), diskBytes: bavail * bsize };
}

/** The part of a pool that says how many machines it may have, and how large they are. */
export type Sizes = Pick<PoolConfig, "maxInstances" | "instanceTypes">;

/**
 * One machine with everything that this computer has, or several with equal shares: together they never have
 * more than the computer. Throws an `UpError` if there are more machines than processors, unless a flag says
 * how large they are.
 */
export function sizesOf({ machines = 1, ...choices }: SizeChoices, here: Capacity): Sizes {
  if (choices.vcpus === undefined && machines > here.vcpus) {
    throw new UpError(
      `This computer has ${processors(here.vcpus)}, which cannot be divided among ${machines} machines. ` +
        `Start with --machines ${here.vcpus}, or with --vcpus 1 as well, to let the machines share.`,
    );
  }
  const vcpus = choices.vcpus ?? Math.floor(here.vcpus / machines);
  const memory = choices.memory ?? `${Math.floor((here.memoryBytes * MEMORY_SHARE) / machines / MIB)}MiB`;
  const disk = formatSize(diskOf((here.diskBytes * DISK_SHARE) / machines));
  return { maxInstances: machines, instanceTypes: { local: { vcpus, memory, disk, price: 0 } } };
}

function diskOf(bytes: number): number {
  const step = bytes >= DISK_STEP_BYTES ? DISK_STEP_BYTES : MIB;
  return Math.floor(bytes / step) * step;
}

/**
 * What all machines may have together beyond what this computer has, in words; undefined: nothing. Only flags
 * can cause that.
 */
export function overcommitText(
  { maxInstances = 0, instanceTypes }: Sizes,
  here: Capacity,
): string | undefined {
  const type = instanceTypes?.local;
  if (type === undefined) return undefined;
  const vcpus = maxInstances * type.vcpus;
  const memoryBytes = maxInstances * sizeBytes(type.memory);
  const over = [
    ...(vcpus > here.vcpus ? [`${processors(vcpus)}, and this computer has ${here.vcpus}`] : []),
    ...(memoryBytes > here.memoryBytes
      ? [`${formatSize(memoryBytes)} of memory, and this computer has ${formatSize(here.memoryBytes)}`]
      : []),
  ];
  if (over.length === 0) return undefined;
  return `By its flags, the pool \`default\` may have ${over.join("; ")}. Runs share what there is.`;
}

/**
 * The sizes to put while `living` machines of an earlier `drover up` go on. If these have another size, the
 * sizes stay as they were until a later start: beside them, machines of a new size would count this computer
 * twice. `earlier`: the sizes that the pool has; undefined: there is no pool yet.
 */
export function sizesBeside(living: number, wanted: Sizes, earlier: Sizes | undefined): Sizes {
  if (living === 0 || earlier === undefined || isSameSize(wanted, earlier)) return wanted;
  const { maxInstances, instanceTypes } = earlier;
  return { maxInstances, instanceTypes };
}

/** Whether machines have the same number, vCPUs and memory. Disk is not compared: what is free changes. */
export function isSameSize(one: Sizes, other: Sizes): boolean {
  const [a, b] = [one.instanceTypes?.local, other.instanceTypes?.local];
  if (a === undefined || b === undefined || one.maxInstances !== other.maxInstances) return false;
  return a.vcpus === b.vcpus && sizeBytes(a.memory) === sizeBytes(b.memory);
}

function processors(count: number): string {
  return count === 1 ? "1 processor" : `${count} processors`;
}
