import { readdirSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findHierarchies } from "../../agent/exec/processes/hierarchies.ts";
import { measure } from "../../agent/exec/processes/usage.ts";
import { readProc } from "../../posix/proc.ts";
import { type Bench, openBench, run } from "./support/bench.ts";

// What real processes use: host-protocol.md#report.

const ID = "build-17/main/1.1";
const hasMemoryGroups = findHierarchies().some(({ limits }) => limits.includes("memory"));
const BUSY = "sleep 300 & (i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); echo ready; wait";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  bench.start();
  bench.plane.order([run(ID, ["sh", "-c", BUSY])]);
  await bench.plane.until("it says that it is ready", () => bench.plane.stored(ID).includes("ready"));
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

test("the agent reports what an attempt uses (tasks.md#prepare-12)", async () => {
  // The first sample may be one of before it was ready, when the loop had a process of its own.
  const used = await bench.plane.until("what is left of it is reported", () => {
    const sample = bench.plane.reports.at(-1)?.usage?.attempts[ID];
    return sample?.pids === 2 ? sample : undefined;
  });
  expect(used.cpuMs).toBeGreaterThan(0);
  expect(used.memoryBytes).toBeGreaterThan(100_000);
  if (hasMemoryGroups) expect(used.peakMemoryBytes).toBeGreaterThanOrEqual(used.memoryBytes);
  else expect(used.peakMemoryBytes).toBe(undefined);
  expect(bench.plane.reports.at(-1)?.usage?.host.memoryBytes).toBeGreaterThan(used.memoryBytes);
});

test("without a cgroup it is summed over the tree, the shim left out", () => {
  const shims = readdirSync("/proc")
    .map(Number)
    .filter((pid) => bench.processes().includes(pid));
  const shim = readProc(Math.min(...shims));
  const used = measure(new Map([["a", { group: undefined, shim }]])).a;
  expect(used?.pids).toBe(2);
  expect(used?.cpuMs).toBeGreaterThan(0);
  expect(used?.memoryBytes).toBeGreaterThan(100_000);
});

test("what is gone uses nothing", () => {
  const gone = { pid: 1_999_999_999, ppid: 1, session: 1, startTime: 1 };
  const group = { folders: [{ path: "/sys/fs/cgroup/no-such-group", version: 2 as const }] };
  const nothing = { cpuMs: 0, memoryBytes: 0, pids: 0 };
  expect(
    measure(
      new Map([
        ["a", { group: undefined, shim: gone }],
        ["b", { group, shim: gone }],
      ]),
    ),
  ).toEqual({
    a: nothing,
    b: nothing,
  });
});
