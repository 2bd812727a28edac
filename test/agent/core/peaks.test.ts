import { expect, test } from "vitest";
import {
  beginPeaks,
  LEAST_RATE_MS,
  type Measured,
  type PeakRecord,
  peaksToReport,
  withMeasured,
} from "../../../agent/core/reports/peaks.ts";

// The most that an attempt has used: tasks.md#peaks.

const SECOND = 1_000;
const MIB = 2 ** 20;

/** The record after measurements at these times, of an attempt that has started at 0. */
function after(...measured: [at: number, Measured][]): PeakRecord {
  return measured.reduce((record, [at, one]) => withMeasured(record, one, at), beginPeaks(0));
}

test.each<[what: string, measured: [number, Measured][], peaks: unknown]>([
  ["nothing was measured", [], undefined],
  ["one number alone", [[SECOND, { memoryBytes: 5 * MIB }]], { memoryBytes: 5 * MIB }],
  [
    "memory that falls",
    [
      [SECOND, { memoryBytes: 5 * MIB }],
      [2 * SECOND, { memoryBytes: MIB }],
    ],
    { memoryBytes: 5 * MIB },
  ],
  [
    "disk that falls, and files that nobody has counted",
    [
      [SECOND, { diskBytes: 5 * MIB, diskIsLeast: true }],
      [2 * SECOND, { diskBytes: MIB, diskIsLeast: false }],
    ],
    { diskBytes: 5 * MIB, diskIsLeast: true },
  ],
  [
    "the highest rate of several",
    [
      [SECOND, { cpuMs: 500 }],
      [2 * SECOND, { cpuMs: 2_500 }],
      [4 * SECOND, { cpuMs: 2_500 }],
    ],
    { cpuMs: 2_500, cpus: 2 },
  ],
  ["a time that is too short for a rate", [[LEAST_RATE_MS - 1, { cpuMs: 100 }]], { cpuMs: 100 }],
  ["a time that is just long enough", [[LEAST_RATE_MS, { cpuMs: 100 }]], { cpuMs: 100, cpus: 0.4 }],
  [
    "a short time after a sample: the rate counts from the sample before",
    [
      [SECOND, { cpuMs: 1_000 }],
      [SECOND + 10, { cpuMs: 1_100 }],
      [2 * SECOND, { cpuMs: 1_500 }],
    ],
    { cpuMs: 1_500, cpus: 1 },
  ],
  [
    "processor time that falls, because a child was not waited for",
    [
      [SECOND, { cpuMs: 1_000 }],
      [2 * SECOND, { cpuMs: 400 }],
    ],
    { cpuMs: 1_000, cpus: 1 },
  ],
  [
    "the cache at the end, which is no peak",
    [
      [SECOND, { memoryBytes: 9 * MIB, cacheBytes: 8 * MIB }],
      [2 * SECOND, { cacheBytes: MIB }],
    ],
    { memoryBytes: 9 * MIB, cacheBytes: MIB },
  ],
  [
    "no use at all, which was measured",
    [[SECOND, { cpuMs: 0, diskBytes: 0 }]],
    { cpuMs: 0, cpus: 0, diskBytes: 0 },
  ],
])("tasks.md#peaks: %s", (_what, measured, peaks) => {
  expect(peaksToReport(after(...measured))).toEqual(peaks);
});

test("an attempt whose start was not seen has no rate before its second count (tasks.md#peaks)", () => {
  const first = withMeasured({ peaks: {} }, { cpuMs: 60_000 }, SECOND);
  expect(first.peaks).toEqual({ cpuMs: 60_000 });
  expect(withMeasured(first, { cpuMs: 60_500 }, 2 * SECOND).peaks).toEqual({ cpuMs: 60_500, cpus: 0.5 });
});
