// How are parts of a vCPU counted exactly (pool.md#fit)?

/** A vCPU has this many parts; nothing smaller can be asked for. */
const PARTS = 1_000;

/** The smallest part of a vCPU that can be asked for. */
export const LEAST_VCPUS = 1 / PARTS;

/**
 * vCPUs in thousandths, as a whole number. Sums of fractions such as 0.1 are not exact; sums of these are, so
 * rooms are compared in thousandths.
 */
export function vcpuParts(vcpus: number): number {
  return Math.round(vcpus * PARTS);
}

/** Whether a number of vCPUs has no smaller part than a thousandth. */
export function isVcpus(vcpus: number): boolean {
  return vcpuParts(vcpus) / PARTS === vcpus;
}

/** The exact sum: the same parts are always the same number. */
export function addVcpus(a: number, b: number): number {
  return (vcpuParts(a) + vcpuParts(b)) / PARTS;
}
