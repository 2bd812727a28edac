// Was what a task asked for far from what it has used, and what would fit better (tasks.md#size-advice)?
import type { Resources } from "../../schema/common.ts";
import type { Peaks, SizeAdvice } from "../../schema/run/peaks.ts";
import type { Millis } from "../../shared/machine.ts";
import { formatSize } from "../../shared/size.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/**
 * When a request was far off (tasks.md#size-advice). `tight`: the share of a request from which on the task
 * had too little. `loose`: the share up to which it had too much. `worthwhile`: a smaller difference is not
 * worth a word.
 */
const FAR_OFF = {
  memory: { tight: 0.9, loose: 0.25, worthwhile: 256 * MIB },
  disk: { tight: 0.9, loose: 0.25, worthwhile: GIB },
  vcpus: { tight: 1.5, loose: 0.5, worthwhile: 1 },
} as const;

/** A shorter run says nothing about the processors that it needs. */
const LEAST_CPU_TIME_MS: Millis = 10_000;
/** In a shorter run, samples say nothing about the most memory that it had. */
const LEAST_SAMPLED_MS: Millis = 60_000;

/** What is proposed leaves this much room above the peak. */
const ROOM = 1.25;
const CPU_ROOM = 1.1;

/** What a task asked for, and what is known of its use. */
export interface TaskUse {
  task: string;
  asked: Resources;
  /** The spec names no memory: `asked` has what was reserved, and is no limit. */
  hasDefaultMemory: boolean;
  peaks: Peaks;
  ranForMs: Millis;
  /** It has done its work. Only then is a low peak a reason to ask for less. */
  isDone: boolean;
  isOutOfMemory: boolean;
}

/** What the task should ask for next time; empty if its request was about right, or nothing was measured. */
export function adviceFor(use: TaskUse): SizeAdvice[] {
  return [memoryAdvice(use), cpuAdvice(use), diskAdvice(use)].filter((one) => one !== undefined);
}

function memoryAdvice(use: TaskUse): SizeAdvice | undefined {
  const { task, asked, hasDefaultMemory, peaks, isDone, isOutOfMemory, ranForMs } = use;
  const { memoryBytes: limit } = asked;
  const about = { task, resource: "memory", asked: limit } as const;
  const { memoryBytes: peak, cacheBytes = 0, memoryIsSampled } = peaks;
  if (isOutOfMemory && !hasDefaultMemory && limit > 0) {
    const text = `ran out of its ${formatSize(limit)} of memory`;
    return { ...about, peak: Math.max(limit, peak ?? 0), ask: roundUp(limit * 2), text };
  }
  if (peak === undefined || limit === 0) return undefined;
  // The kernel gives cached files up when memory is short, so a limit is not tight because of them.
  const needed = peak - cacheBytes;
  const size = roundUp(Math.max(needed, 0) * ROOM);
  if (hasDefaultMemory) {
    if (needed <= limit) return undefined;
    const text = `used ${formatSize(needed)} of memory, and ${formatSize(limit)} were set aside for it`;
    return { ...about, peak, ask: size, text };
  }
  if (needed >= limit * FAR_OFF.memory.tight) {
    const text = `used ${formatSize(needed)} of its ${formatSize(limit)} of memory`;
    return { ...about, peak, ask: Math.max(size, roundUp(limit * ROOM)), text };
  }
  const isSure = memoryIsSampled !== true || ranForMs >= LEAST_SAMPLED_MS;
  const less = roundUp(peak * ROOM);
  if (!isDone || !isSure || !isLoose(FAR_OFF.memory, limit, peak, less)) return undefined;
  const text = `used at most ${formatSize(peak)} of its ${formatSize(limit)} of memory`;
  return { ...about, peak, ask: less, text };
}

function cpuAdvice({ task, asked, peaks, isDone, ranForMs }: TaskUse): SizeAdvice | undefined {
  const { cpus: peak } = peaks;
  const { vcpus } = asked;
  // Tasks that ask for nothing share a processor, which is enough for most of them.
  const base = Math.max(1, vcpus);
  if (peak === undefined || ranForMs < LEAST_CPU_TIME_MS) return undefined;
  const ask = roundedCpus(peak * CPU_ROOM);
  const about = { task, resource: "vcpus", asked: vcpus, peak, ask } as const;
  const shown = Math.round(peak * 10) / 10;
  const { tight, worthwhile } = FAR_OFF.vcpus;
  if (peak > base * tight && peak - base >= worthwhile) {
    return { ...about, text: `used up to ${shown} CPUs, and ${vcpus} were set aside for it` };
  }
  if (!isDone || !isLoose(FAR_OFF.vcpus, vcpus, peak, ask)) return undefined;
  return { ...about, text: `used at most ${shown} of its ${vcpus} CPUs` };
}

function diskAdvice({ task, asked, peaks, isDone }: TaskUse): SizeAdvice | undefined {
  const { diskBytes: peak, diskIsLeast } = peaks;
  const { diskBytes: limit } = asked;
  if (peak === undefined) return undefined;
  const ask = roundUp(peak * ROOM);
  const about = { task, resource: "disk", asked: limit, peak, ask } as const;
  const { tight, worthwhile } = FAR_OFF.disk;
  const isTight = limit > 0 ? peak >= limit * tight : peak >= worthwhile;
  if (isTight) {
    const text = `used ${formatSize(peak)} of disk, and ${formatSize(limit)} were set aside for it`;
    return { ...about, text };
  }
  if (!isDone || diskIsLeast === true || !isLoose(FAR_OFF.disk, limit, peak, ask)) return undefined;
  return { ...about, text: `used at most ${formatSize(peak)} of its ${formatSize(limit)} of disk` };
}

function isLoose(
  { loose, worthwhile }: { loose: number; worthwhile: number },
  asked: number,
  peak: number,
  ask: number,
): boolean {
  return peak <= asked * loose && asked - ask >= worthwhile;
}

/** A size that people would write: in steps of 64 MiB up to 1 GiB, of 512 MiB up to 16 GiB, then of 1 GiB. */
function roundUp(bytes: number): number {
  const step = bytes <= GIB ? 64 * MIB : bytes <= 16 * GIB ? GIB / 2 : GIB;
  return Math.max(1, Math.ceil(bytes / step)) * step;
}

/** Processors in halves below 2, and else whole ones. */
function roundedCpus(cpus: number): number {
  return cpus < 2 ? Math.max(0.5, Math.ceil(cpus * 2) / 2) : Math.ceil(cpus);
}
