// Which resources fit onto a machine (pool.md#fit)?
import type { Resources } from "../schema/common.ts";
import { addVcpus, vcpuParts } from "../shared/cloud/vcpus.ts";

/** No resources at all. */
export const NO_RESOURCES: Readonly<Resources> = { vcpus: 0, memoryBytes: 0, diskBytes: 0, gpus: 0 };

/** Percentage of the advertised memory that a host can use (pool.md#usable-memory). */
const USABLE_PERCENT = 95;

/** Usable bytes of memory: a percentage of the advertised bytes, or what the host measured, if less. */
export function usableMemory(advertised: number, measured = Number.POSITIVE_INFINITY): number {
  return Math.min(Math.floor((advertised * USABLE_PERCENT) / 100), measured);
}

/** The resources with at most so many GPUs; undefined: as many as there are. */
export function withGpus(resources: Resources, most: number | undefined): Resources {
  return most === undefined || most >= resources.gpus ? resources : { ...resources, gpus: most };
}

/**
 * The part of `total` that `used` leaves free. All runs that ask for no vCPU share one vCPU (pool.md#fit).
 * `measured`: bytes of memory that the host measured, if known.
 */
export function remaining(
  total: Resources,
  used: Iterable<Resources>,
  measured?: number,
): Resources & { shared: boolean } {
  const left = { ...total, memoryBytes: usableMemory(total.memoryBytes, measured), shared: false };
  for (const need of used) subtract(left, need);
  return left;
}

/** The vCPU that all runs share which ask for none, in thousandths. */
const SHARED_PARTS = vcpuParts(1);

/** Whether `need` fits into what is left: the packing table of pool.md#fit. */
export function accommodates(left: Resources & { shared: boolean }, need: Resources): boolean {
  const parts = vcpuParts(left.vcpus) - vcpuParts(need.vcpus);
  return (
    parts >= (left.shared || need.vcpus === 0 ? SHARED_PARTS : 0) &&
    left.memoryBytes >= need.memoryBytes &&
    left.diskBytes >= need.diskBytes &&
    left.gpus >= need.gpus
  );
}

/** Takes `need` away from `left` in place, so that packing many runs copies nothing. */
export function subtract(left: Resources & { shared: boolean }, need: Resources): void {
  left.vcpus = addVcpus(left.vcpus, -need.vcpus);
  left.memoryBytes -= need.memoryBytes;
  left.diskBytes -= need.diskBytes;
  left.gpus -= need.gpus;
  if (need.vcpus === 0) left.shared = true;
}

/**
 * What runs reserve of their machine together. Runs that ask for no vCPU reserve the one that they share
 * (pool.md#fit).
 */
export function reservedBy(needs: readonly Resources[]): Resources {
  const sharesVcpu = needs.some(({ vcpus }) => vcpus === 0);
  const reserved = { ...NO_RESOURCES, vcpus: sharesVcpu ? 1 : 0 };
  for (const { vcpus, memoryBytes, diskBytes, gpus } of needs) {
    reserved.vcpus = addVcpus(reserved.vcpus, vcpus);
    reserved.memoryBytes += memoryBytes;
    reserved.diskBytes += diskBytes;
    reserved.gpus += gpus;
  }
  return reserved;
}

/** Whether `need` fits onto a machine with `total`, in addition to `used`. */
export function fitsInto(
  total: Resources,
  used: Iterable<Resources>,
  need: Resources,
  measured?: number,
): boolean {
  return accommodates(remaining(total, used, measured), need);
}
