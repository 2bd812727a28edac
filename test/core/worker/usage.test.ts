import { expect, test } from "vitest";
import { isUsageFresh, SAMPLE_FRESH_MS, usageOfRun } from "../../../src/core/worker/read/usage.ts";
import { at, holding, report, runningOf, T0 } from "../support/worker.ts";

// What runs use is remembered as the host has said it last, and never stored (decisions/hosts.md#usage).

const sample = { cpuMs: 5, memoryBytes: 10, pids: 1 };
const attempts = { "a/main/1.1": sample, "ab/main/1.1": sample };
const usage = { agoMs: 1_000, host: sample, attempts };
const heard = at(holding(["a"]), T0, report(2, { attempts: [runningOf("a")], usage }));

test("of one run, as of when it was measured", () => {
  expect(usageOfRun(heard, "a")).toEqual({ at: T0 - 1_000, attempts: { "a/main/1.1": sample } });
  expect(usageOfRun(heard, "b")).toBeNull();
  expect(usageOfRun(holding(["a"]), "a")).toBeNull();
});

test("a report that says nothing of it changes nothing", () => {
  const later = at(heard, T0 + 1, report(3, { attempts: [runningOf("a")] }));
  expect(usageOfRun(later, "a")).toEqual(usageOfRun(heard, "a"));
});

test("the record is the same with it and without: it costs no row", () => {
  const { record } = at(holding(["a"]), T0, report(2, { attempts: [runningOf("a")] }));
  expect(heard.record).toEqual(record);
});

test.each([
  [0, true],
  [SAMPLE_FRESH_MS - 1_000, true],
  [SAMPLE_FRESH_MS - 999, false],
])("after %i ms it is news still: %s", (ms, fresh) => {
  expect(isUsageFresh(heard, T0 + ms)).toBe(fresh);
});
