import { expect, test } from "vitest";
import { statsOf } from "../../../src/core/allocation/read/stats.ts";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import { exited, observed, ordered, queued, runAt, running, T0 } from "../support/allocation.ts";
import { GroupStory, group, task } from "../support/group.ts";

// tasks.md#usage: the latest sample of each task that runs; an unknown task is an error.

const sample = { cpuMs: 100, cpus: 0.5, memoryBytes: 1_000, pids: 2 };
const { cpus: _, ...first } = sample;
const usage = {
  at: 1_000,
  attempts: { "build-17/m/1.1": sample, "build-17/n/1.1": { ...sample, memoryBytes: 10 } },
};
const two = () => new GroupStory(group(task("m"), task("n")));

test.each<[string, GroupStory, typeof usage | null, (number | null)[], object | null]>([
  ["of all that run", two(), usage, [1_000, 10], { cpuMs: 200, cpus: 1, memoryBytes: 1_010, pids: 4 }],
  ["not of what has ended", two().ends("m"), usage, [null, 10], { ...sample, memoryBytes: 10 }],
  ["nothing was measured", two(), null, [null, null], null],
  ["the run has ended", two().ends("m").ends("n"), usage, [null, null], null],
])("%s", (_what, story, known, memory, total) => {
  const stats = statsOf(story.run, known, undefined);
  expect(stats.tasks.map((one) => one.usage?.memoryBytes ?? null)).toEqual(memory);
  expect(stats.total).toEqual(total);
  expect(stats.at === null).toBe(total === null);
});

test("processors are known of the sum only if they are of each part", () => {
  const attempts = { ...usage.attempts, "build-17/n/1.1": first };
  expect(statsOf(two().run, { at: 1, attempts }, undefined).total?.cpus).toBeUndefined();
});

test("a peak is that of one task, and no part of the sum (tasks.md#usage)", () => {
  const attempts = { "build-17/m/1.1": { ...sample, peakMemoryBytes: 2_000 }, "build-17/n/1.1": sample };
  const stats = statsOf(two().run, { at: 1, attempts }, undefined);
  expect(stats.tasks.map((one) => one.usage?.peakMemoryBytes)).toEqual([2_000, undefined]);
  expect(stats.total?.peakMemoryBytes).toBe(undefined);
});

test("of one task, if there is one of that name", () => {
  expect(statsOf(two().run, usage, "n").total?.memoryBytes).toBe(10);
  expect(() => statsOf(two().run, usage, "x")).toThrow('the run has no task called "x"; it has m, n');
});

test("a run that waits uses nothing", () => {
  expect(statsOf(queued(), null, undefined)).toMatchObject({ at: null, total: null });
});

test("names the devices of the latest attempt, also after its end (devices.md#report)", () => {
  const devices = ["g0", "g1"];
  const first = runAt(ordered({ resources: { gpus: 2 } }), T0, observed([{ ...running, devices }]));
  for (const state of [first, runAt(first, T0, observed([exited()]))]) {
    expect(statsOf(state, null, undefined).tasks).toMatchObject([{ devices }]);
    expect(statusOf(state).tasks[0]?.attempts).toMatchObject([{ devices }]);
  }
  expect(statsOf(runAt(ordered(), T0, observed([running])), null, undefined).tasks[0]).not.toHaveProperty(
    "devices",
  );
});
