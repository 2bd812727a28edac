// What is the most that an attempt has used so far (tasks.md#peaks)?
import type { Peaks } from "../../../src/schema/run/peaks.ts";
import type { Instant, Millis } from "../../../src/shared/machine.ts";

/** One measurement of an attempt. An absent field was not measured. */
export interface Measured {
  cpuMs?: number | undefined;
  memoryBytes?: number | undefined;
  memoryIsSampled?: boolean | undefined;
  cacheBytes?: number | undefined;
  diskBytes?: number | undefined;
  diskIsLeast?: boolean | undefined;
}

/** The peaks of an attempt, and the latest count of its processor time, from which the next rate follows. */
export interface PeakRecord {
  peaks: Peaks;
  latest?: { at: Instant; cpuMs: number } | undefined;
}

/** The record of an attempt that starts at `at` and has used nothing. */
export function beginPeaks(at: Instant): PeakRecord {
  return { peaks: {}, latest: { at, cpuMs: 0 } };
}

/** Over a shorter time than this, a rate says more about the kernel's clock than about the task. */
export const LEAST_RATE_MS: Millis = 250;

/**
 * The record after a measurement at `now` (tasks.md#peaks). Each peak only grows. The size of the cache is
 * no peak: the latest counts. Memory that the kernel has counted includes all earlier samples.
 */
export function withMeasured({ peaks, latest }: PeakRecord, measured: Measured, now: Instant): PeakRecord {
  const { cpuMs, memoryBytes, cacheBytes = peaks.cacheBytes, diskBytes, diskIsLeast } = measured;
  const isSampled = memoryBytes === undefined ? peaks.memoryIsSampled : measured.memoryIsSampled;
  const forMs = latest === undefined || cpuMs === undefined ? 0 : now - latest.at;
  const isRate = forMs >= LEAST_RATE_MS && latest !== undefined && cpuMs !== undefined;
  const cpus = isRate ? Math.max(0, Math.round(((cpuMs - latest.cpuMs) / forMs) * 1_000) / 1_000) : undefined;
  const isFirst = latest === undefined && cpuMs !== undefined;
  return {
    latest: cpuMs !== undefined && (isRate || isFirst) ? { at: now, cpuMs } : latest,
    peaks: known({
      memoryBytes: most(peaks.memoryBytes, memoryBytes),
      cacheBytes,
      memoryIsSampled: isSampled || undefined,
      cpuMs: most(peaks.cpuMs, cpuMs),
      cpus: most(peaks.cpus, cpus),
      diskBytes: most(peaks.diskBytes, diskBytes),
      diskIsLeast: peaks.diskIsLeast || diskIsLeast || undefined,
    }),
  };
}

function most(before: number | undefined, now: number | undefined): number | undefined {
  return before === undefined || now === undefined ? (before ?? now) : Math.max(before, now);
}

/** The peaks without the fields that were not measured. */
function known(peaks: { [Field in keyof Peaks]: Peaks[Field] | undefined }): Peaks {
  return Object.fromEntries(Object.entries(peaks).filter(([, value]) => value !== undefined));
}

/** The peaks to report; undefined if nothing was measured. */
export function peaksToReport({ peaks }: PeakRecord): Peaks | undefined {
  return Object.keys(peaks).length === 0 ? undefined : peaks;
}
