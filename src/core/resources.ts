import type { Resources } from "../schema/common.ts";

/** No resources at all. */
export const NO_RESOURCES: Readonly<Resources> = { vcpus: 0, memoryBytes: 0, diskBytes: 0, gpus: 0 };

/**
 * The share of a machine's memory that is asked for but never usable: hosts have less than is advertised
 * (pool.md#usable-memory).
 */
const USABLE_PERCENT = 95;

/**
 * How many bytes of a machine's memory can be used: of what is advertised so many percent; what a host has
 * measured (absent: nothing is known) if that is less, since what is advertised is never exceeded.
 */
export function usableMemory(advertised: number, measured = Number.POSITIVE_INFINITY): number {
  return Math.min(Math.floor((advertised * USABLE_PERCENT) / 100), measured);
}

/**
 * What is left of `total` when all of `used` is on it. Runs that ask for no vCPU share one (pool.md#fit).
 * `measured`: its bytes of memory, if they are known.
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

/** Whether `need` fits into what is left: the packing table of pool.md#fit. */
export function accommodates(left: Resources & { shared: boolean }, need: Resources): boolean {
  const enough =
    left.vcpus >= need.vcpus &&
    left.memoryBytes >= need.memoryBytes &&
    left.diskBytes >= need.diskBytes &&
    left.gpus >= need.gpus;
  return enough && left.vcpus > 0 && (!left.shared || need.vcpus === 0 || left.vcpus > need.vcpus);
}

/** Takes `need` away from what is left. Changes `left`, so that packing many runs copies nothing. */
export function subtract(left: Resources & { shared: boolean }, need: Resources): void {
  left.vcpus -= need.vcpus;
  left.memoryBytes -= need.memoryBytes;
  left.diskBytes -= need.diskBytes;
  left.gpus -= need.gpus;
  if (need.vcpus === 0) left.shared = true;
}

/** Whether `need` fits onto a machine of `total` beside `used`. */
export function fitsInto(
  total: Resources,
  used: Iterable<Resources>,
  need: Resources,
  measured?: number,
): boolean {
  return accommodates(remaining(total, used, measured), need);
}
