import { readFileSync, statfsSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import type { Resources } from "../src/schema/common.ts";

/**
 * What this machine has: what its cloud declares (`DROVER_RESOURCES`, JSON: the loopback cloud shares one
 * machine among several hosts), else what the system says. Throws if the declaration cannot be read.
 */
export function readResources(env: NodeJS.ProcessEnv, stateDir: string): Resources {
  const declared = env.DROVER_RESOURCES;
  if (declared !== undefined) return parseResources(declared);
  const disk = statfsSync(stateDir);
  const diskBytes = disk.bavail * disk.bsize;
  return { vcpus: availableParallelism(), memoryBytes: totalmem(), diskBytes, gpus: 0 };
}

function parseResources(text: string): Resources {
  const resources: unknown = JSON.parse(text);
  const given = typeof resources === "object" && resources !== null ? resources : {};
  const amount = (name: keyof Resources): number => {
    const value: unknown = Reflect.get(given, name);
    if (typeof value === "number" && value >= 0) return value;
    throw new Error(`DROVER_RESOURCES must have a number "${name}" that is not negative.`);
  };
  const [vcpus, memoryBytes] = [amount("vcpus"), amount("memoryBytes")];
  return { vcpus, memoryBytes, diskBytes: amount("diskBytes"), gpus: amount("gpus") };
}

/**
 * Names this boot of the machine: another one proves that no process of the last has survived. Hosts that
 * share one machine boot on their own and say so by `DROVER_BOOT_ID`.
 */
export function readBootId(env: NodeJS.ProcessEnv): string {
  return env.DROVER_BOOT_ID ?? kernelBootId();
}

/** The same, for what lies on this machine's own disk: it must also tell real boots apart. */
export function readLocalBootId(env: NodeJS.ProcessEnv): string {
  return `${kernelBootId()} ${env.DROVER_BOOT_ID ?? ""}`.trim();
}

function kernelBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}
