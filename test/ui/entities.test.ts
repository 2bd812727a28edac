import { effect } from "@preact/signals";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { RunSummary, WorkerSummary } from "../../src/generated/api.ts";
import { runs, workers } from "../../ui/store/entities.ts";

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

describe("what the page knows of workers, whose answers have no order (ui.md#under-load)", () => {
  const workerOf = (state: WorkerSummary["state"]) => ({ id: "w", state }) as WorkerSummary;
  const seen: (string | undefined)[] = [];
  const stop = effect(() => void seen.push(workers.get("w")?.state));
  afterEach(() => seen.splice(0));
  afterAll(stop);

  test("a list shows what a missed change would have said", async () => {
    workers.put(workerOf("booting"));
    await workers.ask(async () => ({ items: [workerOf("running")] }));
    expect(seen.at(-1)).toBe("running");
  });

  test("a list that was asked for before a change does not undo it", async () => {
    await workers.ask(async () => {
      workers.put(workerOf("shutdown"));
      return { items: [workerOf("running")] };
    });
    expect(seen.at(-1)).toBe("shutdown");
  });
});
