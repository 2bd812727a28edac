import { describe, expect, test } from "vitest";
import type { PoolEvent } from "../../../src/core/pool/machine.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import type { RunRow, WorkerRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
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
} from "../support/pool.ts";

// At most so many runs of an array are placed at once (pool.md#arrays).

const tick: PoolEvent = { type: "tick" };
const of = (index: number, maxParallel?: number, id = "a") => ({
  array: { id, index, size: 9, maxParallel },
});
const planned = (runs: RunRow[], workers: WorkerRow[] = []) => at(configured({}, runs, workers), T0, tick);
const placedOnes = (state: Configured) =>
  [...state.runs.live()].filter(({ opened, ended }) => opened > ended).map((row) => row.run);
const ended = (id: string, more: object): PoolEvent =>
  run(id, { ...more, version: 2, state: "complete", wants: "nothing", epoch: 1, ended: 1 });
const one = vcpus(0);

describe("at most `maxParallel` runs of an array are placed", () => {
  const three = (max: number) =>
    [0, 1, 2].map((index) => waiting(`a-${index}`, { ...one, ...of(index, max) }));

  test("the next one waits, says why, and blocks no other run", () => {
    const state = planned([...three(2), waiting("z", one)], [workerRow("w1")]);
    expect(placedOnes(state)).toEqual(["a-0", "a-1", "z"]);
    expect(explainRun(state, "a-2", T0)).toMatchObject({
      reason: {
        code: "max_parallel",
        text: expect.stringMatching(
          /^2 of 2 runs of its array, "a", .* placed, or about to be \(`maxParallel`\)$/,
        ),
      },
      next: { code: "place", waitsFor: "command" },
    });
  });

  test("it is placed once another one has ended, and not before, whoever has forgotten what", () => {
    const before = planned(three(2), [workerRow("w1")]);
    const after = at(reloaded(before), T0 + MINUTE, tick);
    expect(placedOnes(after)).toEqual(["a-0", "a-1"]);
    expect(placedOnes(at(after, T0 + MINUTE, ended("a-0", of(0, 2))))).toEqual(["a-1", "a-2"]);
  });

  test("no machine is kept, made or reserved for runs that may not start", () => {
    const large = [0, 1, 2].map((index) => waiting(`a-${index}`, { ...vcpus(4), ...of(index, 1) }));
    const state = planned(large);
    expect([...state.workers.live()]).toHaveLength(1);
    const busy = planned(
      [placed("a-0", "w1", { ...one, ...of(0, 1) }), ...large.slice(1)],
      [workerRow("w1")],
    );
    expect([...busy.workers.live()]).toHaveLength(1);
    expect(busy.memo.latest.pass?.reserved).toBeNull();
  });

  test("those that come later, one at a time, count as well", () => {
    let state = planned([], [workerRow("w1")]);
    for (const index of [0, 1, 2]) state = at(state, T0, run(`a-${index}`, { ...one, ...of(index, 2) }));
    expect(placedOnes(state)).toEqual(["a-0", "a-1"]);
  });

  test("runs of the array that have no such limit count, too", () => {
    const runs = [waiting("a-0", { ...one, ...of(0) }), waiting("a-1", { ...one, ...of(1, 1) })];
    expect(placedOnes(planned(runs, [workerRow("w1")]))).toEqual(["a-0"]);
  });

  test("arrays of two projects, or with other ids, do not count for each other", () => {
    const projects = { default: {}, ml: {} };
    const runs = [
      waiting("a-0", { ...one, ...of(0, 1) }),
      waiting("b-0", { ...one, ...of(0, 1, "b") }),
      waiting("ml.a-0", { ...one, ...of(0, 1), project: "ml" }),
    ];
    const shared = at(configured({ projects, shareMachines: true }, runs, [workerRow("w1")]), T0, tick);
    expect(placedOnes(shared).sort()).toEqual(["a-0", "b-0", "ml.a-0"]);
  });
});
