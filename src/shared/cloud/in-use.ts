// How full is a machine, in words?
import { formatSize } from "../size.ts";

/** What a machine has, or what is reserved of it. */
interface Room {
  vcpus: number;
  memoryBytes: number;
  gpus: number;
}

/** How much of something a machine has, and how much of that its runs have reserved. */
export interface InUse {
  /** What it is, as a heading. */
  name: "vCPUs" | "Memory" | "GPUs";
  used: number;
  of: number;
  /** Both, in units for people. */
  usedText: string;
  ofText: string;
}

/**
 * How much of the vCPUs, of the memory and of the GPUs of a machine its runs have reserved. GPUs are left out
 * where there are none. Empty if nobody has said that, or if what the machine has is not known yet.
 */
export function inUse({ resources, used }: { resources: Room; used?: Room | undefined }): InUse[] {
  if (used === undefined || resources.vcpus === 0 || resources.memoryBytes === 0) return [];
  const vcpus = { used: used.vcpus, of: resources.vcpus };
  const memory = { used: used.memoryBytes, of: resources.memoryBytes };
  const gpus = { used: used.gpus, of: resources.gpus };
  const hasGpus = gpus.of > 0 || gpus.used > 0;
  return [
    { name: "vCPUs", ...vcpus, usedText: String(vcpus.used), ofText: String(vcpus.of) },
    { name: "Memory", ...memory, usedText: formatSize(memory.used), ofText: formatSize(memory.of) },
    ...(hasGpus
      ? [{ name: "GPUs" as const, ...gpus, usedText: String(gpus.used), ofText: String(gpus.of) }]
      : []),
  ];
}

/** The share as so many of `cells`. What is not empty has one, and only what is full has all. */
export function filledCells({ used, of }: Pick<InUse, "used" | "of">, cells: number): number {
  if (used <= 0) return 0;
  return used >= of ? cells : Math.min(cells - 1, Math.max(1, Math.round((cells * used) / of)));
}
