// What are the resources of this machine, and which boot is this?
import { readFileSync, statfsSync } from "node:fs";
import { machineSize } from "../posix/machine-size.ts";
import type { Resources } from "../src/schema/common.ts";

/**
 * The resources of this machine, or of the container around this agent, as the system reports them. In the
 * loopback cloud, where several hosts share one machine, `DROVER_RESOURCES` (JSON) replaces them. `gpus`: how
 * many devices can be used; undefined: nothing on this machine names devices (devices.md#source). Throws if
 * the declaration is not valid.
 */
export function readResources(env: NodeJS.ProcessEnv, stateDir: string, gpus: number | undefined): Resources {
  const declared = env.DROVER_RESOURCES;
  if (declared !== undefined) {
    const resources = parseResources(declared);
    return { ...resources, gpus: gpus ?? resources.gpus };
  }
  const disk = statfsSync(stateDir);
  const diskBytes = disk.bavail * disk.bsize;
  return { ...machineSize(), diskBytes, gpus: gpus ?? 0 };
}

function parseResources(text: string): Resources {
  const fields: Partial<Record<keyof Resources, unknown>> = Object(JSON.parse(text));
  const amount = (name: keyof Resources): number => {
    const value = fields[name];
    if (typeof value === "number" && value >= 0) return value;
    throw new Error(`DROVER_RESOURCES must have a number "${name}" that is not negative.`);
  };
  const [vcpus, memoryBytes] = [amount("vcpus"), amount("memoryBytes")];
  return { vcpus, memoryBytes, diskBytes: amount("diskBytes"), gpus: amount("gpus") };
}

/**
 * The id of this boot. A new id proves that no process of an earlier boot lives. Hosts that share one machine
 * get separate boot ids in `DROVER_BOOT_ID`.
 */
export function readBootId(env: NodeJS.ProcessEnv): string {
  return env.DROVER_BOOT_ID ?? kernelBootId();
}

/** The id of this boot for files on this machine's disk. It always contains the kernel's boot id. */
export function readLocalBootId(env: NodeJS.ProcessEnv): string {
  return `${kernelBootId()} ${env.DROVER_BOOT_ID ?? ""}`.trim();
}

function kernelBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}
