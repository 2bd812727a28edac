import { describe, expect, test } from "vitest";
import type { RunUpsert } from "../../../src/core/messages.ts";
import type { PoolEvent } from "../../../src/core/pool/machine.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import {
  at,
  configured,
  MINUTE,
  owed,
  reloaded,
  rowOf,
  run,
  T0,
  upsert,
  vcpus,
  workerRow,
} from "../support/pool.ts";

// A run ends those with its key, and starts only on proof that they have ended (pool.md#replacing).

const tick: PoolEvent = { type: "tick" };
const KEY = { ...vcpus(0), replace: "deploy" };
const says = (id: string, more: Partial<RunUpsert> = {}) => run(id, { ...KEY, ...more });
const stopping = { version: 2, wants: "nothing" as const };
const aborted = { ...stopping, state: "aborted" as const, version: 3 };
const placedOnes = (state: Configured) =>
  [...state.runs.live()].filter(({ opened, ended }) => opened > ended).map((row) => row.run);
const begun = (...events: PoolEvent[]) => at(configured({}, [], [workerRow("w1")]), T0, tick, ...events);
const told = (state: Configured, now = T0) => owed(state, now, "end_run").map(({ body }) => body);
const confirms = (id: string, by: string, more: Partial<RunUpsert>): PoolEvent => ({
  type: "end_run_answered",
  sent: { run: id, submittedAt: T0, reason: `run ${by} replaces it`, by: "admin", graceful: true },
  answer: { kind: "run", run: upsert(id, { ...KEY, ...more }) },
});

describe("a run with the key of a run that is placed", () => {
  test("waits for its end, names it, and blocks nobody", () => {
    const state = begun(says("a"), says("b"), run("z", vcpus(0)));
    expect(placedOnes(state)).toEqual(["a", "z"]);
    expect(explainRun(state, "b", T0)).toMatchObject({
      reason: { code: "replacing", text: "it replaces run a, and starts only when that run has ended" },
      next: { code: "place", waitsFor: "command" },
      chain: [{ what: "run a", state: "pending", text: "placed on worker w1; it has been asked to end" }],
    });
  });

  test("has it asked to end with all grace until its allocation has confirmed it, also after a crash", () => {
    const state = begun(says("a"), says("b"));
    const body = { run: "a", submittedAt: T0, reason: "run b replaces it", by: "admin", graceful: true };
    expect(told(state)).toEqual([body]);
    const again = at(reloaded(state), T0 + MINUTE, tick);
    expect(told(again, T0 + MINUTE)).toEqual([body]);
    const confirmed = at(again, T0 + MINUTE, confirms("a", "b", { ...stopping, epoch: 1 }));
    expect(told(confirmed, T0 + MINUTE)).toEqual([]);
    expect(placedOnes(confirmed)).toEqual(["a"]);
  });

  test("is placed once that run has ended and its epoch is closed, and not before", () => {
    const state = begun(says("a"), says("b"));
    const stops = at(state, T0, says("a", { ...stopping, state: "running", epoch: 1 }));
    expect(placedOnes(stops)).toEqual(["a"]);
    const ends = at(stops, T0, says("a", { ...aborted, epoch: 1, ended: 1 }));
    expect(placedOnes(ends)).toEqual(["b"]);
  });

  test("is placed if nothing is left of that run but its row", () => {
    const state = begun(says("a"), says("b"));
    const sent = { run: "a", submittedAt: T0, reason: "", by: "admin", graceful: true };
    const gone: PoolEvent = { type: "end_run_answered", sent, answer: { kind: "no_such" } };
    expect(placedOnes(at(state, T0, gone))).toEqual(["b"]);
  });
});

describe("three submissions in a row", () => {
  test("leave exactly the last one", () => {
    const state = begun(says("a"), says("b"), says("c"));
    expect(told(state).map((one) => [one.run, one.reason])).toEqual([
      ["a", "run b replaces it"],
      ["b", "run c replaces it"],
    ]);
    expect(explainRun(state, "b", T0)).toMatchObject({
      reason: { code: "replaced", text: "run c replaces it, and so it is being ended" },
    });
    const first = at(state, T0, says("a", { ...aborted, epoch: 1, ended: 1 }));
    expect(placedOnes(first)).toEqual([]);
    expect(explainRun(first, "c", T0)).toMatchObject({ reason: { text: expect.stringContaining("run b") } });
    const second = at(first, T0, says("b", stopping), says("b", aborted));
    expect(placedOnes(second)).toEqual(["c"]);
  });

  test("end those before them also if the last one is aborted at once", () => {
    const state = begun(says("a"), says("b"), says("b", stopping), says("b", aborted));
    expect(told(state).map((one) => one.run)).toEqual(["a"]);
    expect(rowOf(state, "a")).toMatchObject({ replacedBy: { run: "b" } });
  });
});

describe("a run is not replaced", () => {
  const projects = { default: {}, ml: {} };
  const array = (id: string, index: number) => ({ array: { id, index, size: 2 } });
  test.each<[string, Partial<RunUpsert>, Partial<RunUpsert>]>([
    ["by one with another key", {}, { replace: "other" }],
    ["by one without a key", {}, { replace: undefined }],
    ["by one of another project", {}, { project: "ml" }],
    ["by another run of its array", array("n", 0), array("n", 1)],
  ])("%s", (_what, first, second) => {
    const state = at(
      configured({ projects, shareMachines: true }, [], [workerRow("w1")]),
      T0,
      says("a", first),
      says("b", second),
    );
    expect(placedOnes(state).sort()).toEqual(["a", "b"]);
    expect(told(state)).toEqual([]);
  });

  test("by a late copy of a submission that was refused (messages.md#late-refused)", () => {
    const state = begun(says("f", { submittedAt: T0 + 5 }), says("g", { submittedAt: T0 + 6 }));
    const late = at(state, T0 + 10, says("f"));
    expect([...late.runs.live()].filter((row) => row.replacedBy?.run === "f")).toEqual([]);
  });

  test("by one that the pool does not take", () => {
    const state = begun(says("a"), says("b", { ...vcpus(99) }));
    expect(told(state)).toEqual([]);
  });

  test("when the same run is told again", () => {
    expect(told(begun(says("a"), says("a"), says("a", { version: 2 })))).toEqual([]);
  });
});

test("an array replaces all runs of the array before it", () => {
  const of = (id: string, index: number) => says(`${id}-${index}`, { array: { id, index, size: 2 } });
  const state = begun(of("m", 0), of("m", 1), of("n", 0), of("n", 1));
  expect(told(state).map((one) => one.run)).toEqual(["m-0", "m-1"]);
  const half = at(state, T0, says("m-0", { ...aborted, epoch: 1, ended: 1 }));
  expect(placedOnes(half)).toEqual(["m-1"]);
  expect(placedOnes(at(half, T0, says("m-1", { ...aborted, epoch: 1, ended: 1 })))).toEqual(["n-0", "n-1"]);
});
