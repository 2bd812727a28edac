// What does a pool ask of its cloud, as the checks of all clouds see it?
import type { PutPoolConfig } from "../../src/schema/pool.ts";
import { sizeBytes } from "../../src/shared/size.ts";

/** A type of machines that a pool offers. */
export interface Wanted {
  /** The pool's name of the type, and the cloud's. */
  name: string;
  type: string;
  vcpus: number;
  memoryBytes: number;
  diskBytes: number;
  gpus: number;
  arch: "x64" | "arm64";
  spot: boolean;
  /** Whether machines that the cloud does not interrupt can be asked for. */
  onDemand: boolean;
  zones: readonly string[] | undefined;
  price: number | undefined;
}

/** What a type of a cloud really has. Absent: the cloud does not say. */
export interface Real {
  vcpus: number;
  memoryBytes: number;
  diskBytes?: number;
  arch?: "x64" | "arm64";
}

/** A pool that is checked. */
export interface Subject<Provider = PutPoolConfig["provider"]> {
  name: string;
  config: PutPoolConfig;
  provider: Provider;
  wanted: readonly Wanted[];
}

export const GIB = 2 ** 30;

/** The types of a pool, with the defaults of what they leave out. */
export function wantedOf({ instanceTypes }: PutPoolConfig): Wanted[] {
  return Object.entries(instanceTypes).map(([name, type]) => {
    const { vcpus, memory, disk, gpus, arch = "x64", zones, price, fallback } = type;
    const spot = type.preemptible === true;
    return {
      name,
      type: type.providerType ?? name,
      vcpus,
      memoryBytes: sizeBytes(memory),
      diskBytes: sizeBytes(disk),
      gpus,
      arch,
      spot,
      onDemand: !spot || fallback !== undefined,
      zones,
      price,
    };
  });
}

/** Which of these fields the pool counts on although the cloud's type has less, as words. */
export function shortagesOf(wanted: Wanted, real: Real): string[] {
  const faults: string[] = [];
  if (wanted.vcpus > real.vcpus) faults.push(`vcpus is ${wanted.vcpus}, and it has ${real.vcpus}`);
  if (wanted.memoryBytes > real.memoryBytes)
    faults.push(`memory is ${gib(wanted.memoryBytes)}, and it has ${gib(real.memoryBytes)}`);
  if (real.diskBytes !== undefined && wanted.diskBytes > real.diskBytes)
    faults.push(`disk is ${gib(wanted.diskBytes)}, and it has ${gib(real.diskBytes)}`);
  if (real.arch !== undefined && wanted.arch !== real.arch)
    faults.push(`arch is ${wanted.arch}, and it is ${real.arch}`);
  return faults;
}

/** A size in GiB, for people. */
export function gib(bytes: number): string {
  return `${Math.round((bytes / GIB) * 100) / 100} GiB`;
}

/** Names as a list for people, and no more than a line of them. */
export function listed(names: readonly string[], most = 12): string {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}
