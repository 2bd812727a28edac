import { describe, expect, test } from "vitest";
import { type FoundGone, pageOfGone } from "../../../src/core/pool/past/gone-workers.ts";
import { GoneWorkers } from "../../../src/schema/pool/past.ts";
import { configured, T0, workerRow } from "../support/pool.ts";

const HOUR = 3_600_000;
const TYPE = { vcpus: 4, memory: "8GiB", disk: "0", gpus: 0, price: 2 };
const state = configured({}, [], []);
const gone = (id: string, ms: number, more = {}): FoundGone => ({
  at: T0 + ms,
  row: workerRow(id, "gone", { type: TYPE, askedAt: T0 - HOUR, ...more }),
});
const page = (found: FoundGone[], limit: number, within: FoundGone[] = []) => {
  const { items, next } = GoneWorkers.parse(pageOfGone(state, found, limit, () => within));
  return { ids: items.map(({ id }) => id), next };
};

describe("the workers that are gone (api.md#past-of-a-pool)", () => {
  test("say when they were gone, and what they have cost", () => {
    const paid = { from: T0 - HOUR / 2, until: T0 };
    const { items } = pageOfGone(state, [gone("a", 0), gone("b", HOUR, { paid })], 9, () => []);
    expect(items.map(({ id, state: now, cost }) => [id, now, cost])).toEqual([
      ["a", "gone", 2],
      ["b", "gone", 1],
    ]);
    expect(items[0]?.goneAt).toBe(new Date(T0).toISOString());
  });

  test("a price that nobody knows is not 0 (cases.md#case-21)", () => {
    const { price: _unknown, ...type } = TYPE;
    expect(pageOfGone(state, [gone("a", 0, { type })], 9, () => []).items[0]?.cost).toBeNull();
  });

  test("all fit into one answer", () => {
    expect(page([gone("b", 2), gone("a", 1)], 2)).toEqual({ ids: ["b", "a"], next: null });
  });

  test("an answer ends between two milliseconds, and the next goes on before its last", () => {
    const found = [gone("d", 4), gone("c", 3), gone("b", 3)];
    expect(page(found, 2)).toEqual({ ids: ["d"], next: new Date(T0 + 4).toISOString() });
  });

  test("more of one millisecond than fit are all in one answer", () => {
    const same = [gone("c", 3), gone("b", 3), gone("a", 3)];
    expect(page(same, 2, same)).toEqual({ ids: ["c", "b", "a"], next: new Date(T0 + 3).toISOString() });
  });
});
