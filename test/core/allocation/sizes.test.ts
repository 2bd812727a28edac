import { expect, test } from "vitest";
import { peaksOf } from "../../../src/core/allocation/read/sizes.ts";
import { statsOf } from "../../../src/core/allocation/read/stats.ts";
import { GroupStory, group, task } from "../support/group.ts";

// What a run has used at most, as its host reports it with the end: tasks.md#peaks.

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const peaks = { memoryBytes: 100 * MIB, cacheBytes: MIB, cpuMs: 1_200, cpus: 0.7, diskBytes: 4 * MIB };
const MEMORY = { resources: { memory: "8GiB" } };

test("the peaks of a report are those of the attempt, once nothing of it is left (tasks.md#peaks)", () => {
  const story = new GroupStory(group(task("m")));
  expect(story.status.tasks[0]?.attempts[0]?.peaks).toBe(undefined);
  story.ends("m", {}, peaks);
  expect(story.status.tasks[0]?.attempts[0]?.peaks).toEqual(peaks);
  expect(statsOf(story.run, null, undefined).tasks[0]).toMatchObject({ usage: null, peaks });
});

test("what was not measured is absent, and not 0 (tasks.md#peaks)", () => {
  const story = new GroupStory(group(task("m"))).ends("m");
  expect(Object.keys(story.status.tasks[0]?.attempts[0] ?? {})).not.toContain("peaks");
  expect(Object.keys(statsOf(story.run, null, undefined).tasks[0] ?? {})).not.toContain("peaks");
  expect(story.status.advice).toBe(undefined);
});

test("the peaks of a task are the greatest of its attempts; memory and its cache stay together", () => {
  const more = { memoryBytes: 200 * MIB, cacheBytes: 150 * MIB, cpuMs: 10, cpus: 0.1, diskBytes: 9 * MIB };
  const attempts = [{ peaks }, { peaks: more }, {}].map(
    (one) => one as Parameters<typeof peaksOf>[0][number],
  );
  const most = { ...peaks, memoryBytes: 200 * MIB, cacheBytes: 150 * MIB, diskBytes: 9 * MIB };
  expect(peaksOf(attempts)).toEqual(most);
  expect(peaksOf([...attempts].reverse())).toEqual(most);
  expect(peaksOf([])).toBe(undefined);
});

test("what is said about memory is never of two attempts, also if one lacks a part (tasks.md#peaks)", () => {
  const sampled = { memoryBytes: 100 * MIB, cacheBytes: 90 * MIB, memoryIsSampled: true, cpuMs: 7 };
  const whole = { memoryBytes: 200 * MIB, diskBytes: 5 };
  const attempts = [{ peaks: sampled }, { peaks: whole }].map(
    (one) => one as Parameters<typeof peaksOf>[0][number],
  );
  expect(peaksOf(attempts)).toEqual({ ...whole, cpuMs: 7 });
  expect(peaksOf([...attempts].reverse())).toEqual({ ...whole, cpuMs: 7 });
});

test.each<[string, (story: GroupStory) => GroupStory, boolean]>([
  ["ended with exit code 0", (story) => story.ends("m", {}, peaks), true],
  ["ended with exit code 1", (story) => story.ends("m", { code: 1 }, peaks), false],
  ["still runs", (story) => story, false],
  ["was aborted", (story) => story.abort(), false],
])("a run that %s: that it needs less is said: %s (tasks.md#size-advice)", (_what, act, isSaid) => {
  const story = act(new GroupStory(group(task("m", MEMORY))));
  const { advice } = story.status;
  expect(advice).toEqual(
    isSaid
      ? [
          {
            task: "m",
            resource: "memory",
            asked: 8 * GIB,
            peak: 100 * MIB,
            ask: 128 * MIB,
            text: "used at most 100MiB of its 8GiB of memory",
          },
        ]
      : undefined,
  );
});
