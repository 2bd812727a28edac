import { expect, test } from "vitest";
import { adviceFor, type TaskUse } from "../../src/core/run/size-advice.ts";

// Which requests were far off, and what would fit better: tasks.md#size-advice.

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const ASKED = { vcpus: 1, memoryBytes: 256 * MIB, diskBytes: 0, gpus: 0 };
const MINUTE = 60_000;

interface Changes extends Partial<Omit<TaskUse, "asked">> {
  asked?: Partial<TaskUse["asked"]>;
}

/** What is said of a task that ran for a minute and ended well: `resource ask: text`. */
function said({ asked, ...more }: Changes): string[] {
  const use: TaskUse = {
    task: "main",
    asked: { ...ASKED, ...asked },
    hasDefaultMemory: false,
    peaks: {},
    ranForMs: MINUTE,
    isDone: true,
    isOutOfMemory: false,
    ...more,
  };
  return adviceFor(use).map(({ resource, ask, text }) => {
    return `${resource} ${resource === "vcpus" ? ask : `${ask / MIB}MiB`}: ${text}`;
  });
}

const asks = (memoryBytes: number) => ({ memoryBytes });

test.each<[what: string, Changes, string[]]>([
  ["nothing was measured", { asked: asks(8 * GIB) }, []],
  [
    "far too much",
    { asked: asks(8 * GIB), peaks: { memoryBytes: 300 * MIB } },
    ["memory 384MiB: used at most 300MiB of its 8GiB of memory"],
  ],
  ["a quarter, just", { asked: asks(2 * GIB), peaks: { memoryBytes: 512 * MIB + 1 } }, []],
  [
    "a quarter",
    { asked: asks(2 * GIB), peaks: { memoryBytes: 512 * MIB } },
    ["memory 640MiB: used at most 512MiB of its 2GiB of memory"],
  ],
  ["a little, of a small request", { asked: asks(256 * MIB), peaks: { memoryBytes: MIB } }, []],
  [
    "a little, of a run that has failed",
    { asked: asks(8 * GIB), isDone: false, peaks: { memoryBytes: MIB } },
    [],
  ],
  [
    "a little, by samples of a short run",
    { asked: asks(8 * GIB), ranForMs: MINUTE - 1, peaks: { memoryBytes: MIB, memoryIsSampled: true } },
    [],
  ],
  [
    "a little, by samples of a long run",
    { asked: asks(8 * GIB), peaks: { memoryBytes: MIB, memoryIsSampled: true } },
    ["memory 64MiB: used at most 1MiB of its 8GiB of memory"],
  ],
  [
    "nearly all, and it has failed",
    { asked: asks(GIB), isDone: false, peaks: { memoryBytes: 1_000 * MIB } },
    ["memory 1536MiB: used 1000MiB of its 1GiB of memory"],
  ],
  ["nine tenths, just not", { asked: asks(1_000 * MIB), peaks: { memoryBytes: 900 * MIB - 1 } }, []],
  [
    "nearly all, by files that the kernel caches",
    { asked: asks(GIB), peaks: { memoryBytes: GIB, cacheBytes: 800 * MIB } },
    [],
  ],
  [
    "all, and it was out of memory",
    { asked: asks(32 * MIB), isDone: false, isOutOfMemory: true, peaks: { memoryBytes: 32 * MIB } },
    ["memory 64MiB: ran out of its 32MiB of memory"],
  ],
  ["less than the default", { hasDefaultMemory: true, peaks: { memoryBytes: 8 * MIB } }, []],
  ["just the default", { hasDefaultMemory: true, peaks: { memoryBytes: 256 * MIB } }, []],
  [
    "more than the default",
    { hasDefaultMemory: true, peaks: { memoryBytes: 900 * MIB } },
    ["memory 1536MiB: used 900MiB of memory, and 256MiB were set aside for it"],
  ],
  [
    "more than the default, but by cached files",
    { hasDefaultMemory: true, peaks: { memoryBytes: 900 * MIB, cacheBytes: 800 * MIB } },
    [],
  ],
  ["no memory at all was asked for", { asked: asks(0), peaks: { memoryBytes: GIB } }, []],
])("of memory: %s (tasks.md#size-advice)", (_what, use, expected) => {
  expect(said(use)).toEqual(expected);
});

test.each<[what: string, Changes, string[]]>([
  [
    "few of many",
    { asked: { vcpus: 4 }, peaks: { cpus: 0.4 } },
    ["vcpus 0.5: used at most 0.4 of its 4 CPUs"],
  ],
  ["few of many, by a short run", { asked: { vcpus: 4 }, ranForMs: 9_999, peaks: { cpus: 0.4 } }, []],
  ["few of many, by a run that has failed", { asked: { vcpus: 4 }, isDone: false, peaks: { cpus: 0.4 } }, []],
  ["few of one: that saves too little", { peaks: { cpus: 0.1 } }, []],
  ["half", { asked: { vcpus: 8 }, peaks: { cpus: 4 } }, ["vcpus 5: used at most 4 of its 8 CPUs"]],
  ["more than half", { asked: { vcpus: 8 }, peaks: { cpus: 4.1 } }, []],
  ["far more", { peaks: { cpus: 3.8 } }, ["vcpus 5: used up to 3.8 CPUs, and 1 were set aside for it"]],
  ["a little more", { peaks: { cpus: 1.9 } }, []],
  [
    "far more than nothing",
    { asked: { vcpus: 0 }, peaks: { cpus: 2 } },
    ["vcpus 3: used up to 2 CPUs, and 0 were set aside for it"],
  ],
  ["more than a part of one", { asked: { vcpus: 0.5 }, peaks: { cpus: 1.9 } }, []],
])("of processors: %s (tasks.md#size-advice)", (_what, use, expected) => {
  expect(said(use)).toEqual(expected);
});

test.each<[what: string, Changes, string[]]>([
  [
    "little of much",
    { asked: { diskBytes: 20 * GIB }, peaks: { diskBytes: GIB } },
    ["disk 1536MiB: used at most 1GiB of its 20GiB of disk"],
  ],
  [
    "little of much, as far as counted",
    {
      asked: { diskBytes: 20 * GIB },
      peaks: { diskBytes: GIB, diskIsLeast: true },
    },
    [],
  ],
  [
    "nearly all",
    { asked: { diskBytes: 10 * GIB }, peaks: { diskBytes: 9 * GIB } },
    ["disk 11776MiB: used 9GiB of disk, and 10GiB were set aside for it"],
  ],
  ["some without a request", { peaks: { diskBytes: GIB - 1 } }, []],
  [
    "much without a request",
    { peaks: { diskBytes: 3 * GIB } },
    ["disk 4096MiB: used 3GiB of disk, and 0B were set aside for it"],
  ],
])("of disk: %s (tasks.md#size-advice)", (_what, use, expected) => {
  expect(said(use)).toEqual(expected);
});

test("nothing that is proposed would be proposed to change again (tasks.md#size-advice)", () => {
  for (const vcpus of [0, 0.5, 1, 2, 16, 64]) {
    for (const cpus of [0, 0.2, 0.9, 1.4, 3.3, 9, 60]) {
      for (const memory of [1, 64, 300, 900, 5_000, 90_000]) {
        for (const limit of [64, 512, 4_096, 131_072]) {
          const peaks = { cpus, memoryBytes: memory * MIB };
          const use = { task: "main", hasDefaultMemory: false, peaks, ranForMs: MINUTE, isDone: true };
          const asked = { ...ASKED, vcpus, memoryBytes: limit * MIB };
          const advice = adviceFor({ ...use, asked, isOutOfMemory: false });
          const better = { ...asked };
          for (const { resource, ask } of advice) {
            if (resource === "vcpus") better.vcpus = ask;
            else better.memoryBytes = ask;
          }
          expect(adviceFor({ ...use, asked: better, isOutOfMemory: false })).toEqual([]);
        }
      }
    }
  }
});
