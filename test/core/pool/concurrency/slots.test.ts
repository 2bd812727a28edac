import { describe, expect, test } from "vitest";
import type { PoolEvent } from "../../../../src/core/pool/machine.ts";
import { explainRun } from "../../../../src/core/pool/read/views.ts";
import { isOpen, type RunRow, type WorkerRow } from "../../../../src/core/pool/record.ts";
import type { Configured } from "../../../../src/core/pool/state.ts";
import type { Concurrency } from "../../../../src/schema/run/start/concurrency.ts";
import {
  at,
  configured,
  MINUTE,
  placed,
  reloaded,
  run,
  T0,
  vcpus,
  waiting,
  workerRow,
  workerSays,
} from "../../support/pool.ts";

// At most so many runs with one concurrency key hold a slot at once (pool.md#concurrency-keys).

const tick: PoolEvent = { type: "tick" };
const one = vcpus(0);
const keyed = (limit = 1, more: Partial<Concurrency> = {}) => ({
  concurrency: { key: "deploy", limit, strategy: "queue" as const, ...more },
});
const planned = (runs: RunRow[], workers: WorkerRow[] = [workerRow("w1")]) =>
  at(configured({}, runs, workers), T0, tick);
const holders = (state: Configured) => [...state.runs.live()].filter(isOpen).map((row) => row.run);
const ended = (id: string, more: object = {}): PoolEvent =>
  run(id, {
    ...one,
    ...keyed(),
    version: 2,
    state: "complete",
    wants: "nothing",
    epoch: 1,
    ended: 1,
    ...more,
  });
const queued = (count: number, limit = 1) =>
  Array.from({ length: count }, (_, n) => waiting(`r${n}`, { ...one, ...keyed(limit), submittedAt: T0 + n }));

describe("at most `limit` runs of a key are placed", () => {
  test("the next one waits, says for whom, and blocks no run with another key or without one", () => {
    const other = waiting("other", { ...one, ...keyed(1, { key: "docs" }), submittedAt: T0 + 8 });
    const state = planned([...queued(4, 2), other, waiting("none", { ...one, submittedAt: T0 + 9 })]);
    expect(holders(state)).toEqual(["r0", "r1", "other", "none"]);
    expect(explainRun(state, "r3", T0)).toMatchObject({
      reason: {
        code: "concurrency_key",
        text:
          'its concurrency key, "deploy", is held by runs r0 and r1, and at most 2 runs may hold it at ' +
          "once; it is number 2 of the runs that wait for it",
        key: "deploy",
        limit: 2,
        keyPosition: 2,
        holders: ["r0", "r1"],
      },
      next: {
        code: "place",
        action: "place it as soon as a run with its key has ended",
        waitsFor: "command",
      },
      chain: [
        { what: "run r0", state: "pending", text: "placed on worker w1" },
        { what: "run r1", state: "pending", text: "placed on worker w1" },
      ],
    });
  });

  test("at most five holders are named", () => {
    const state = planned(queued(9, 7));
    expect(explainRun(state, "r8", T0)?.reason).toMatchObject({
      text: expect.stringContaining("held by runs r0, r1, r2, r3, r4 and 2 more, and at most 7 runs may"),
      holders: ["r0", "r1", "r2", "r3", "r4"],
    });
  });

  test("those to whom a slot is promised are counted where no more names fit", () => {
    const config = { maxRunsPerInstance: 5, maxInstances: 2 };
    const state = at(configured(config, queued(9, 8), [workerRow("w1")]), T0, tick);
    expect(explainRun(state, "r8", T0)?.reason.text).toContain(
      "is held by runs r0, r1, r2, r3 and r4 and promised to 3 more, and at most 8 runs may hold it",
    );
  });

  test("case 14: the first that waits gets the slot once it is free, whoever has forgotten what", () => {
    const before = planned(queued(3));
    const after = at(reloaded(before), T0 + MINUTE, tick);
    expect(holders(after)).toEqual(["r0"]);
    const next = at(after, T0 + MINUTE, ended("r0"));
    expect(holders(next)).toEqual(["r1"]);
    expect(explainRun(next, "r2", T0)?.reason).toMatchObject({ keyPosition: 1, holders: ["r1"] });
  });

  test("case 14: a run of which nobody hears holds its slot until its placement is over", () => {
    const state = planned(
      [placed("r0", "w1", { ...one, ...keyed() }), ...queued(2).slice(1)],
      [workerRow("w1"), workerRow("w2")],
    );
    const silent = at(state, T0 + MINUTE, workerSays("w1", { phase: "unknown", version: 2 }));
    expect(holders(silent)).toEqual(["r0"]);
    const lost = ended("r0", { state: "unknown", failure: "machine_lost" });
    expect(holders(at(reloaded(silent), T0 + 2 * MINUTE, lost))).toEqual(["r1"]);
  });

  test("a run that is placed again waits as any other: no slot is kept for it in between", () => {
    const state = planned([placed("r0", "w1", { ...one, ...keyed() }), ...queued(2).slice(1)]);
    const moves = run("r0", { ...one, ...keyed(), version: 2, wants: "nothing", epoch: 1, ended: 1 });
    const between = at(state, T0, moves);
    expect(holders(between)).toEqual(["r1"]);
    const again = at(between, T0, run("r0", { ...one, ...keyed(), version: 3, ended: 1 }));
    expect(explainRun(again, "r0", T0)?.reason).toMatchObject({ holders: ["r1"], keyPosition: 1 });
  });

  test("a run that is only kept holds none (tasks.md#kept)", () => {
    const kept = { ...one, ...keyed(), state: "failed" as const, wants: "nothing" as const, version: 2 };
    const state = planned([placed("r0", "w1", { ...one, ...keyed() }), ...queued(2).slice(1)]);
    const failed = at(state, T0, run("r0", { ...kept, epoch: 1, keptUntil: T0 + MINUTE }));
    expect(holders(failed)).toEqual(["r0", "r1"]);
  });

  test("the limit of the run that wants to start counts", () => {
    const state = planned([...queued(2), waiting("wide", { ...one, ...keyed(2), submittedAt: T0 + 2 })]);
    expect(holders(state)).toEqual(["r0", "wide"]);
  });

  test("runs of another project with the same key do not count", () => {
    const projects = { default: {}, ml: {} };
    const runs = [...queued(1), waiting("ml.a", { ...one, ...keyed(), project: "ml" })];
    const state = at(configured({ projects, shareMachines: true }, runs, [workerRow("w1")]), T0, tick);
    expect(holders(state).sort()).toEqual(["ml.a", "r0"]);
  });

  test("a run of higher priority comes first, and then who was submitted first", () => {
    const urgent = waiting("urgent", { ...one, ...keyed(), priority: 90, submittedAt: T0 + 5 });
    const state = planned([placed("x", "w1", { ...one, ...keyed() }), ...queued(2), urgent]);
    expect(explainRun(state, "urgent", T0)?.reason).toMatchObject({ keyPosition: 1 });
    expect(holders(at(state, T0, ended("x")))).toEqual(["urgent"]);
  });

  test("those that come later, one at a time, count as well", () => {
    let state = planned([]);
    for (const n of [0, 1, 2]) state = at(state, T0, run(`r${n}`, { ...one, ...keyed(2) }));
    expect(holders(state)).toEqual(["r0", "r1"]);
  });
});

describe("a run that waits for its machine has its slot, as nobody may take it meanwhile", () => {
  const big = waiting("big", { ...vcpus(4), ...keyed() });
  const small = waiting("small", { ...one, ...keyed(), submittedAt: T0 + 1 });

  test.each<[string, RunRow[], WorkerRow[], object]>([
    ["while a machine is made for it", [big, small], [], {}],
    ["while a machine boots for it", [big, small], [workerRow("w1", "booting")], {}],
    [
      "while a machine is reserved for it",
      [placed("x", "w1", vcpus(1)), big, small],
      [workerRow("w1")],
      { maxInstances: 1 },
    ],
    [
      "while it waits for its turn to be asked for",
      [waiting("first", { ...vcpus(4), priority: 99 }), big, small],
      [],
      { maxConcurrentCreates: 1 },
    ],
  ])("%s", (_what, runs, workers, config) => {
    const state = at(configured(config, runs, workers), T0, tick);
    expect(holders(state)).not.toContain("small");
    expect(explainRun(state, "small", T0)?.reason).toMatchObject({
      code: "concurrency_key",
      text: expect.stringContaining("is promised to run big, and at most 1 run may"),
      holders: [],
    });
  });

  test("a run that no machine can be found for keeps the slot from nobody", () => {
    const state = at(configured({ maxInstances: 0 }, [big, small], [workerRow("w2")]), T0, tick);
    const none = waiting("none", { ...vcpus(9), ...keyed() });
    expect(holders(at(configured({}, [none, small], [workerRow("w2")]), T0, tick))).toEqual(["small"]);
    expect(holders(state)).not.toContain("none");
  });

  test("of equal runs only the first has it", () => {
    const first = waiting("first", { ...vcpus(4), priority: 99 });
    const rest = [1, 2].map((n) => waiting(`b${n}`, { ...vcpus(4), ...keyed(), submittedAt: T0 + n }));
    const state = at(configured({ maxConcurrentCreates: 1 }, [first, ...rest], []), T0, tick);
    const codes = ["b1", "b2"].map((id) => explainRun(state, id, T0)?.reason.code);
    expect(codes).toEqual(["machine_asked", "concurrency_key"]);
  });

  test("nothing is made or reserved for runs that may not start", () => {
    const more = [1, 2].map((n) => waiting(`b${n}`, { ...vcpus(4), ...keyed(), submittedAt: T0 + n }));
    const state = at(configured({}, [big, ...more], []), T0, tick);
    expect([...state.workers.live()]).toHaveLength(1);
  });
});
