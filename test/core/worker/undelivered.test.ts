import { describe, expect, test } from "vitest";
import { workerMachine } from "../../../src/core/worker/machine.ts";
import { whyOf } from "../../../src/core/worker/read/status.ts";
import { livePlacements, undeliveredPlacements } from "../../../src/core/worker/state.ts";
import { LEASE_MARGIN_MS } from "../../../src/shared/limits.ts";
import { at, holding, LEASE, order, owed, ready, reloaded, report, T0 } from "../support/worker.ts";

const tick = { type: "tick" as const };
const kill = { type: "kill" as const, reason: "enough", by: "ann" };
/** Of the stories' pool: three probe intervals, and no less than 30 s. */
const PATIENCE = 30_000;
const SILENT = T0 + PATIENCE + 1;
const untold = () => at(ready(), T0, order("a"));
const iso = (ms: number) => new Date(ms).toISOString();

describe("a placement whose order the host has not fetched", () => {
  test("A3: it is refused as soon as the host is silent, and the machine wakes for that", () => {
    expect(workerMachine.wakeAt(untold())).toBe(SILENT);
    expect(livePlacements(at(untold(), SILENT - 1, tick))).toHaveLength(1);
    const silent = at(untold(), SILENT, tick);
    expect(livePlacements(silent)).toEqual([]);
    const ended = { run: "a", epoch: 1, worker: "default-s-1", how: "refused", held: false, at: SILENT };
    expect(owed(silent, SILENT, "ended")).toEqual([ended]);
    expect(owed(reloaded(silent), SILENT, "ended")).toEqual([ended]);
  });

  test("A3: that it was not told outlives the process of its worker", () => {
    const evicted = reloaded(untold());
    expect(undeliveredPlacements(evicted)).toHaveLength(1);
    expect(owed(at(evicted, SILENT, tick), SILENT, "ended")).toMatchObject([{ how: "refused" }]);
  });

  test("A3: what the host was told waits for the end of its lease, and then only", () => {
    expect(livePlacements(at(holding(["a"]), SILENT, tick))).toHaveLength(1);
    const told = at(ready(), T0, order("a", { listening: true }));
    expect(livePlacements(at(told, SILENT, tick))).toHaveLength(1);
    expect(livePlacements(at(reloaded(told), SILENT, tick))).toHaveLength(1);
  });

  test("A3: a host that is heard in time keeps it, and holds it once it is told", () => {
    const heard = at(untold(), SILENT - 1, report(2));
    expect(livePlacements(at(heard, SILENT, tick))).toHaveLength(1);
    const told = at(heard, SILENT, { type: "orders_sent" });
    expect(livePlacements(at(told, SILENT + PATIENCE, tick))).toHaveLength(1);
  });

  test("A3: a kill does not wait for its machine either", () => {
    expect(owed(at(untold(), T0, kill), T0, "ended")).toMatchObject([{ how: "refused", held: false }]);
    expect(owed(at(holding(["a"]), T0, kill), T0, "ended")).toEqual([]);
  });
});

test.each([
  ["not told: when its host is silent", untold(), SILENT],
  ["told: when its lease is over for certain", holding(["a"]), T0 + LEASE + LEASE_MARGIN_MS],
])("A3: the worker says until when its host may say nothing of a run, %s", (what, state, endsAt) => {
  expect(whyOf(state, T0, "a").reason.placementEndsAt).toBe(iso(endsAt));
  expect(whyOf(state, T0, "a").reason.undelivered).toBe(what.startsWith("not told") || undefined);
  expect(whyOf(state, T0, "b").reason.placementEndsAt).toBeUndefined();
  expect(livePlacements(at(at(state, T0 + LEASE, tick), endsAt, tick))).toEqual([]);
});
