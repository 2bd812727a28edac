// How much processor time and memory do attempts and the machine use?
import { existsSync } from "node:fs";
import { freemem, totalmem } from "node:os";
import { dirname } from "node:path";
import { type Group, membersOf } from "../../../posix/cgroup.ts";
import { tryReadText } from "../../../posix/files.ts";
import { listPids, listProcs, type Proc, type ProcId } from "../../../posix/proc.ts";
import { selectTree } from "../../../posix/tree.ts";
import type { RawUsage } from "../../core/types.ts";

/** Units of processor time in `/proc/<pid>/stat`: Linux shows hundredths of a second on every machine. */
const MS_PER_TICK = 10;

/** How to find the processes of an attempt: its cgroup, if it has one, and its shim, which is not counted. */
export interface UsageSource {
  group: Group | undefined;
  shim: ProcId | undefined;
}

/**
 * The usage of attempts. Each number is the kernel's count for the attempt's cgroup if the kernel has this
 * count, and otherwise the sum over the attempt's processes. Without a cgroup, the processes are found by
 * session and parent, in one process list for all attempts. A process that has left both is not counted.
 */
export function measure(attempts: ReadonlyMap<string, UsageSource>): Record<string, RawUsage> {
  let all: Proc[] | undefined;
  const found: Record<string, RawUsage> = {};
  for (const [id, { group, shim }] of attempts) {
    if (group === undefined) {
      all ??= listProcs().filter(({ ended }) => !ended);
      found[id] = sumOf(treeBelow(all, shim));
      continue;
    }
    const { cpuMs, memoryBytes, pids, ...more } = kernelCountsOf(group);
    const isCounted = cpuMs !== undefined && memoryBytes !== undefined && pids !== undefined;
    const sum = sumOf(isCounted ? [] : membersOf(group));
    found[id] = {
      cpuMs: cpuMs ?? sum.cpuMs,
      memoryBytes: memoryBytes ?? sum.memoryBytes,
      pids: pids ?? sum.pids,
      ...(more.peakBytes === undefined && sum.peakBytes !== undefined
        ? { peakBytes: sum.peakBytes, peakIsSampled: true }
        : {}),
      ...more,
    };
  }
  return found;
}

/** The usage of the whole machine. */
export function measureHost(): RawUsage {
  // The first line is the sum over all processors: user, nice, system, idle, iowait, irq (`proc_stat(5)`).
  const [user = 0, nice = 0, system = 0, , , irq = 0] =
    /^cpu +(.*)$/m
      .exec(tryReadText("/proc/stat") ?? "")?.[1]
      ?.split(" ")
      .map(Number) ?? [];
  const cpuMs = (user + nice + system + irq) * MS_PER_TICK;
  return { cpuMs, memoryBytes: totalmem() - freemem(), pids: listPids().length };
}

/**
 * The kernel's numbers for a cgroup. Its controllers, and the age of the kernel, decide which numbers exist.
 */
export function kernelCountsOf({ folders }: Group): Partial<RawUsage> {
  const kernelCounts: Partial<RawUsage> = {};
  for (const { path, version } of folders) {
    const read = (name: string) => readIfFile(path, name);
    const isNew = version === 2;
    const micros = /^usage_usec (\d+)$/m.exec((isNew && read("cpu.stat")) || "")?.[1];
    const nanos = isNew ? undefined : read("cpuacct.usage");
    const bytes = read(isNew ? "memory.current" : "memory.usage_in_bytes");
    const pids = read("pids.current");
    if (micros !== undefined) kernelCounts.cpuMs = Math.round(Number(micros) / 1e3);
    if (nanos !== undefined) kernelCounts.cpuMs = Math.round(Number(nanos) / 1e6);
    if (bytes !== undefined) kernelCounts.memoryBytes = Number(bytes);
    if (pids !== undefined) kernelCounts.pids = Number(pids);
    const peak = read(isNew ? "memory.peak" : "memory.max_usage_in_bytes");
    if (peak !== undefined) kernelCounts.peakBytes = Number(peak);
  }
  return kernelCounts;
}

/** Files that no cgroup below a folder has. Its controllers and the kernel decide that. */
const absent = new Set<string>();

/** Reads a file that most cgroups lack: to look for it costs less than an error, and it is missed once. */
function readIfFile(folder: string, name: string): string | undefined {
  const kind = `${dirname(folder)}/*/${name}`;
  if (absent.has(kind)) return undefined;
  const file = `${folder}/${name}`;
  if (existsSync(file)) return tryReadText(file);
  if (existsSync(folder)) absent.add(kind);
  return undefined;
}

/** The files that the kernel caches for a cgroup; undefined if it does not say. */
export function cachedBytesOf({ folders }: Group): number | undefined {
  const stats = folders.map(({ path }) => readIfFile(path, "memory.stat") ?? "");
  return stats.map(cachedBytes).find((bytes) => bytes !== undefined);
}

/**
 * The cached files in `memory.stat`, without those that are in memory only. In version 1 the numbers that
 * include groups below begin with `total_`.
 */
function cachedBytes(stat: string): number | undefined {
  const numberOf = (name: string) => new RegExp(`^${name} (\\d+)$`, "m").exec(stat)?.[1];
  const files = numberOf("file") ?? numberOf("total_cache");
  if (files === undefined) return undefined;
  return Math.max(0, Number(files) - Number(numberOf("shmem") ?? numberOf("total_shmem") ?? 0));
}

/** The sum over processes. Its `peakBytes` is that of one process, which is a lower bound. */
function sumOf(pids: number[]): RawUsage {
  const sum: RawUsage = { cpuMs: 0, memoryBytes: 0, pids: pids.length };
  for (const pid of pids) {
    const stat = tryReadText(`/proc/${pid}/stat`) ?? "";
    // Fields 14 to 17 of `proc_pid_stat(5)`: the process's own time, and the time of children that it has
    // waited for.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((total, field) => total + Number(field), 0);
    const status = tryReadText(`/proc/${pid}/status`) ?? "";
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
    const most = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
    if (most !== undefined) sum.peakBytes = Math.max(sum.peakBytes ?? 0, Number(most) * 1_024);
    sum.peakIsSampled = true;
    sum.cpuMs += ticks * MS_PER_TICK;
    sum.memoryBytes += Number(kilobytes ?? 0) * 1_024;
  }
  return sum;
}

function treeBelow(all: Proc[], shim: ProcId | undefined): number[] {
  if (shim === undefined) return [];
  return selectTree(all, () => false, { shim }).map(({ pid }) => pid);
}
