import { effect } from "@preact/signals";
import { afterEach, describe, expect, test } from "vitest";
import type { RunSummary } from "../../src/generated/api.ts";
import { runs } from "../../ui/store/entities.ts";

const runOf = (id: string, version: number, state: RunSummary["state"]): RunSummary => ({
  ...{ id, version, state, project: "default", pool: "default", labels: {}, priority: 50, command: "true" },
  ...{
    exitCode: null,
    worker: null,
    startedAt: null,
    finishedAt: null,
    submittedAt: "2026-11-27T00:00:00.000Z",
  },
});

describe("what the page knows of runs (ui.md#under-load)", () => {
  let stop = () => {};
  afterEach(() => stop());

  test("a run that has ended and that nobody shows is not held", () => {
    const before = runs.size;
    for (let n = 0; n < 1_000; n += 1) {
      runs.put(runOf(`passing-${n}`, 1, "running"));
      runs.put(runOf(`passing-${n}`, 2, "complete"));
    }
    expect(runs.size).toBe(before);
  });

  test("a run that is shown is held when it ends, and dropped when it is shown no more", () => {
    const before = runs.size;
    const seen: (string | undefined)[] = [];
    runs.put(runOf("shown", 1, "running"));
    stop = effect(() => void seen.push(runs.get("shown")?.state));
    runs.put(runOf("shown", 2, "failed"));
    expect(seen).toEqual(["running", "failed"]);
    stop();
    expect(runs.size).toBe(before);
  });

  test("an older answer of a list does not undo a change", () => {
    const seen: (number | undefined)[] = [];
    stop = effect(() => void seen.push(runs.get("changing")?.version));
    runs.put(runOf("changing", 3, "running"));
    runs.put(runOf("changing", 2, "pending"));
    expect(seen).toEqual([undefined, 3]);
  });
});
