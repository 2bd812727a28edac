import { readFileSync } from "node:fs";
import { cpus, freemem, totalmem } from "node:os";
import { join } from "node:path";
import { type Group, membersOf } from "../../../posix/cgroup.ts";
import { listPids, listProcs, type Proc, type ProcId } from "../../../posix/proc.ts";
import { selectTree } from "../../../posix/tree.ts";
import type { RawUsage } from "../../core/types.ts";

/** Units of processor time in `/proc/<pid>/stat`: Linux shows hundredths of a second on every machine. */
const MS_PER_TICK = 10;

/** What to measure: the cgroup of an attempt, if it has one, and its shim, which is not counted. */
export interface Measured {
  group: Group | undefined;
  shim: ProcId | undefined;
}

/**
 * What attempts use. Each number comes from the cgroup if the machine counts it there, else it is summed over
 * the processes. Those are looked for once for all attempts: by the cgroup, or by session and descent, so
 * what has left both is not counted.
 */
export function measure(attempts: ReadonlyMap<string, Measured>): Record<string, RawUsage> {
  let all: Proc[] | undefined;
  const found: Record<string, RawUsage> = {};
  for (const [id, { group, shim }] of attempts) {
    const counted = group === undefined ? {} : countedBy(group);
    const { cpuMs, memoryBytes, pids } = counted;
    if (cpuMs !== undefined && memoryBytes !== undefined && pids !== undefined) {
      found[id] = { cpuMs, memoryBytes, pids };
      continue;
    }
    let members: number[];
    if (group !== undefined) members = membersOf(group);
    else {
      all ??= listProcs().filter(({ ended }) => !ended);
      members = below(all, shim);
    }
    found[id] = { ...sumOf(members), ...counted };
  }
  return found;
}

/** What the machine as a whole uses. */
export function measureHost(): RawUsage {
  let cpuMs = 0;
  for (const { times } of cpus()) cpuMs += times.user + times.nice + times.sys + times.irq;
  return { cpuMs, memoryBytes: totalmem() - freemem(), pids: listPids().length };
}

/** What the kernel counts for a cgroup: which numbers there are depends on its controllers. */
function countedBy({ folders }: Group): Partial<RawUsage> {
  const counted: Partial<RawUsage> = {};
  for (const { path } of folders) {
    const read = (name: string) => tryRead(join(path, name));
    const micros = /^usage_usec (\d+)$/m.exec(read("cpu.stat") ?? "")?.[1];
    const nanos = read("cpuacct.usage");
    const bytes = read("memory.current") ?? read("memory.usage_in_bytes");
    const pids = read("pids.current");
    if (micros !== undefined) counted.cpuMs = Math.round(Number(micros) / 1e3);
    if (nanos !== undefined) counted.cpuMs = Math.round(Number(nanos) / 1e6);
    if (bytes !== undefined) counted.memoryBytes = Number(bytes);
    if (pids !== undefined) counted.pids = Number(pids);
  }
  return counted;
}

function sumOf(pids: number[]): RawUsage {
  const sum: RawUsage = { cpuMs: 0, memoryBytes: 0, pids: pids.length };
  for (const pid of pids) {
    const stat = tryRead(`/proc/${pid}/stat`) ?? "";
    // From the third field on (`proc_pid_stat(5)`): time of its own, and of children that it has waited for.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((total, field) => total + Number(field), 0);
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(tryRead(`/proc/${pid}/status`) ?? "")?.[1];
    sum.cpuMs += ticks * MS_PER_TICK;
    sum.memoryBytes += Number(kilobytes ?? 0) * 1_024;
  }
  return sum;
}

function below(all: Proc[], shim: ProcId | undefined): number[] {
  if (shim === undefined) return [];
  return selectTree(all, () => false, { shim }).map(({ pid }) => pid);
}

/** Undefined if it is not there, or went at this moment: it uses nothing any more. */
function tryRead(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
