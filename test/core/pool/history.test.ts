import { describe, expect, test } from "vitest";
import { type FoundRun, type FoundWorker, poolHistory } from "../../../src/core/pool/past/history.ts";
import { configured, T0, waiting, workerRow } from "../support/pool.ts";

// Where one answer about a pool's history ends, and the next begins (api.md#history-of-a-pool).

const state = configured({}, [], []);
const span = { since: T0, until: T0 + 1_000 };
const iso = (ms: number) => new Date(T0 + ms).toISOString();
const run = (ms: number, id: string): FoundRun => ({ at: T0 + ms, path: "$.submittedAt", row: waiting(id) });
const worker = (ms: number, id: string): FoundWorker => ({
  at: T0 + ms,
  path: "$.askedAt",
  row: workerRow(id),
});

describe("an answer of at most two of each (api.md#history-of-a-pool)", () => {
  test.each<[string, FoundRun[], FoundWorker[], string[], number | null]>([
    ["has all if there are no more", [run(1, "a"), run(3, "b")], [worker(2, "w")], ["a", "w", "b"], null],
    [
      "ends before the first that it leaves out",
      [run(1, "a"), run(2, "b"), run(5, "c")],
      [worker(7, "w")],
      ["a", "b"],
      5,
    ],
    [
      "ends where either table has more",
      [run(1, "a"), run(9, "b")],
      [worker(2, "v"), worker(3, "w"), worker(4, "x")],
      ["a", "v", "w"],
      4,
    ],
    ["leaves a whole millisecond to the next", [run(1, "a"), run(5, "b"), run(5, "c")], [], ["a"], 5],
    [
      "has what it found of a millisecond that is too full",
      [run(5, "a"), run(5, "b"), run(5, "c")],
      [],
      ["a", "b", "c"],
      6,
    ],
  ])("%s", (_what, runs, workers, expected, next) => {
    const history = poolHistory(state, span, { runs, workers, limit: 2 }, T0);
    expect(history.items.map((item) => item.run ?? item.worker)).toEqual(expected);
    expect(history.next).toBe(next === null ? null : iso(next));
  });
});
