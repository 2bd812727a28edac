import { describe, expect, test } from "vitest";
import { upsertOf } from "../../../src/core/allocation/summary.ts";
import { listedRun } from "../../../src/core/pool/read/run-costs.ts";
import type { RunRow } from "../../../src/core/pool/record.ts";
import { RunSummary } from "../../../src/schema/run/run.ts";
import * as allocation from "../support/allocation.ts";
import { configured, placed, T0, waiting, workerRow } from "../support/pool.ts";

const HOUR = 3_600_000;
const TYPE = { vcpus: 4, memory: "8GiB", disk: "0", gpus: 0 };
const quarter = { resources: { vcpus: 1, memoryBytes: 0, diskBytes: 0, gpus: 0 } };
const over = { state: "complete", wants: "nothing", opened: 1, ended: 1, worker: "w1" } as const;

/** The cost in a list, of a run on a machine of this price, an hour after its placement was opened. */
function costOf(row: RunRow, price?: number) {
  const type = price === undefined ? TYPE : { ...TYPE, price };
  const shown = listedRun(configured({}, [row], [workerRow("w1", "ready", { type })]), row, T0 + HOUR);
  return RunSummary.parse(shown).cost;
}

describe("what a list says of the cost of a run (api.md#costs-in-lists)", () => {
  const open = (more: Partial<RunRow> = {}) => placed("a", "w1", { openedAt: T0, ...quarter, ...more });

  test.each<[string, RunRow, number | undefined, ReturnType<typeof costOf>]>([
    ["one that waits has cost nothing", waiting("a"), 4, { amount: 0, unpriced: 0, perHour: 0 }],
    ["one that runs: its share of the machine so far", open(), 4, { amount: 1, unpriced: 0, perHour: 1 }],
    [
      "one that runs for the second time: both placements",
      open({ paid: { amount: 0.5, unpriced: 0 } }),
      4,
      { amount: 1.5, unpriced: 0, perHour: 1 },
    ],
    ["nobody knows the price: not 0", open(), undefined, { amount: null, unpriced: 1, perHour: null }],
    [
      "the price of the first placement alone is known",
      open({ paid: { amount: 0.5, unpriced: 0 } }),
      undefined,
      { amount: 0.5, unpriced: 1, perHour: null },
    ],
    [
      "the price of the second placement alone is known",
      open({ paid: { amount: null, unpriced: 1 } }),
      4,
      { amount: 1, unpriced: 1, perHour: 1 },
    ],
    [
      "one that has ended: what its allocation has said",
      waiting("a", { ...over, paid: { amount: 2, unpriced: 0 } }),
      4,
      { amount: 2, unpriced: 0, perHour: 0 },
    ],
    [
      "one that has ended without a place",
      waiting("a", { state: "aborted", wants: "nothing" }),
      4,
      { amount: 0, unpriced: 0, perHour: 0 },
    ],
    [
      "one that is kept on its machine goes on to cost",
      open({ state: "failed", wants: "nothing" }),
      4,
      { amount: 1, unpriced: 0, perHour: 1 },
    ],
    ["one that an earlier version has ended: unknown", waiting("a", over), 4, undefined],
  ])("%s", (_what, row, price, expected) => {
    expect(costOf(row, price)).toEqual(expected);
  });
});

describe("what an allocation says of its run to the pool (api.md#costs-in-lists)", () => {
  const { at, ended, existing, nothing, observed, pool, runAt, submit } = allocation;
  const running = (spec = {}) =>
    runAt(at(nothing(), T0, submit(spec)), T0, pool(1, { kind: "placed", worker: "w1", epoch: 1, rate: 2 }));

  test("neither a failure nor a cost while its first placement lasts", () => {
    expect(upsertOf(existing(running())).failure).toBeUndefined();
    expect(upsertOf(existing(running())).paid).toBeUndefined();
  });

  test("the code of its failure, and the cost of all placements, once it has ended", () => {
    const lost = runAt(running(), T0 + HOUR, observed([]), ended("lost"));
    const { state, failure, paid } = upsertOf(existing(lost));
    expect(state).toMatch(/failed|unknown/);
    expect(failure).toBe(existing(lost).record.outcome?.failure?.code);
    expect(failure).toBeDefined();
    expect(paid).toEqual({ amount: 2, unpriced: 0 });
  });

  test("the cost of a placement that is over, while the next is awaited", () => {
    const again = runAt(running({ reschedule: { attempts: 1, unlimited: false } }), T0 + HOUR, ended("lost"));
    const { state, failure, paid } = upsertOf(existing(again));
    expect([state, failure]).toEqual(["pending", undefined]);
    expect(paid).toEqual({ amount: 2, unpriced: 0 });
  });
});
