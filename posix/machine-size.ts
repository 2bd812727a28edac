// How many processors and how much memory may this process use?
import { availableParallelism, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { tryReadText } from "./files.ts";
import { type OwnCgroup, ownCgroups } from "./own-cgroups.ts";

export interface MachineSize {
  /** Whole processors, at least one. */
  vcpus: number;
  memoryBytes: number;
}

/**
 * The size of this machine, or of the container around this process: the limits of its cgroup and of all
 * cgroups above count, since `/proc/meminfo` and the number of processors do not know them. Of a processor
 * that is only partly allowed, nothing counts beyond the first. `files` replaces `/proc/self` in tests.
 */
export function machineSize(
  files = "/proc/self",
  whole: MachineSize = { vcpus: availableParallelism(), memoryBytes: totalmem() },
): MachineSize {
  const limits = ownCgroups(files).flatMap((own) =>
    foldersOf(own).map((path) => limitsOf(path, own.version)),
  );
  const least = (sizes: (number | undefined)[]) => Math.min(...sizes.filter((size) => size !== undefined));
  return {
    vcpus: Math.max(1, Math.floor(least([whole.vcpus, ...limits.map(({ vcpus }) => vcpus)]))),
    memoryBytes: least([whole.memoryBytes, ...limits.map(({ memoryBytes }) => memoryBytes)]),
  };
}

/** The folders of a cgroup and of all cgroups above it, as far as this process sees them. */
function foldersOf({ path }: OwnCgroup): string[] {
  const folders = [path];
  for (let above = dirname(path); isCgroup(above); above = dirname(above)) folders.push(above);
  return folders;
}

function isCgroup(path: string): boolean {
  return tryReadText(join(path, "cgroup.procs")) !== undefined;
}

/** What a cgroup allows; undefined: it has no limit. */
function limitsOf(path: string, version: 1 | 2): Partial<MachineSize> {
  const read = (name: string) => tryReadText(join(path, name))?.trim();
  const [quota, period] =
    version === 2
      ? (read("cpu.max") ?? "").split(" ")
      : [read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")];
  const memory = read(version === 2 ? "memory.max" : "memory.limit_in_bytes");
  const [vcpus, memoryBytes] = [Number(quota) / Number(period), Number(memory)];
  return {
    ...(vcpus > 0 ? { vcpus } : {}),
    ...(memoryBytes > 0 ? { memoryBytes } : {}),
  };
}
