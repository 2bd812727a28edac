import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PoolEvent } from "../../../../src/core/pool/machine.ts";
import { queuePage } from "../../../../src/core/pool/read/lists.ts";
import { isOpen, type RunRow } from "../../../../src/core/pool/record.ts";
import type { Configured } from "../../../../src/core/pool/state.ts";
import { at, configured, reloaded, rowOf, run, T0, vcpus, workerRow } from "../../support/pool.ts";

// Keys that take turns (pool.md#round-robin).

/** A run that asks for a whole machine, so that one is placed at a time. */
const says = (id: string, key: string | null, more: object = {}) =>
  run(id, {
    ...vcpus(4),
    ...(key === null ? {} : { concurrency: { key, limit: 9, strategy: "round-robin" as const } }),
    ...more,
  });
const begun = (...events: PoolEvent[]) =>
  at(configured({ maxInstances: 0 }, [], [workerRow("w1")]), T0, { type: "tick" }, ...events);
const holder = (state: Configured) => [...state.runs.live()].find(isOpen);

/** What runs ends. */
function ended(state: Configured): PoolEvent {
  const row = holder(state);
  if (row === undefined) return { type: "tick" };
  const { opened: epoch, worker: _worker, heardAt: _heardAt, turn: _turn, ...upsert } = row;
  const over = { version: row.version + 1, state: "complete", wants: "nothing" } as const;
  return { type: "run", body: { ...upsert, ...over, epoch, ended: epoch } };
}

/** Ends what runs, and what comes then, until nothing is left: the order in which the runs were placed. */
function drained(begin: Configured, each: (state: Configured) => Configured = (state) => state): string[] {
  const order: string[] = [];
  let state = begin;
  for (let row = holder(state); row !== undefined; row = holder(state)) {
    order.push(row.run);
    state = each(at(state, T0, ended(state)));
  }
  return order;
}

describe("keys take turns for machines", () => {
  const many = (key: string, count: number, from = 0) =>
    Array.from({ length: count }, (_, n) => says(`${key}${n}`, key, { submittedAt: T0 + from + n }));

  test("a key with few runs does not wait for all runs of another one that came first", () => {
    const state = begun(...many("a", 6), ...many("b", 2, 10));
    expect(drained(state)).toEqual(["a0", "a1", "b0", "a2", "b1", "a3", "a4", "a5"]);
  });

  test("also if the pool forgets between any two placements what it only remembers", () => {
    const events = [...many("a", 4), ...many("b", 3, 10), ...many("c", 2, 20)];
    const order = ["a0", "a1", "b0", "c0", "a2", "b1", "c1", "a3", "b2"];
    expect(drained(begun(...events))).toEqual(order);
    expect(drained(reloaded(begun(...events)), reloaded)).toEqual(order);
  });

  test("a key that comes later comes after those that wait, and not after all of their runs", () => {
    const state = begun(...many("a", 3), ...many("b", 3, 10));
    const order = drained(state, (one) => {
      return holder(one)?.run === "b0" ? at(one, T0, ...many("c", 1, 30)) : one;
    });
    expect(order).toEqual(["a0", "a1", "b0", "a2", "b1", "c0", "b2"]);
  });

  test("runs of other strategies, and without a key, keep their places in the queue", () => {
    const others = [says("x", null, { submittedAt: T0 + 2 }), says("y", null, { submittedAt: T0 + 30 })];
    const { items } = queuePage(begun(...many("a", 4), ...others, ...many("b", 1, 10)), { limit: 10 }, T0);
    expect(items.map(({ id }) => id)).toEqual(["a1", "b0", "x", "a2", "a3", "y"]);
  });

  test("priority comes before turns", () => {
    const urgent = [0, 1].map((n) => says(`u${n}`, "a", { priority: 90, submittedAt: T0 + 50 + n }));
    expect(drained(begun(...many("a", 1), ...many("b", 2, 10), ...urgent))).toEqual([
      "a0",
      "u0",
      "u1",
      "b0",
      "b1",
    ]);
  });

  test("a key has had its turn while its run is placed, also if the run with the mark is aborted", () => {
    const state = begun(...many("a", 4), ...many("b", 1, 10));
    const next = at(state, T0, ended(state));
    expect(holder(next)?.run).toBe("a1");
    const row = rowOf(next, "a2", T0 + 2);
    expect(row?.turn).toBe(holder(next)?.turn);
    const abort = says("a2", "a", { submittedAt: T0 + 2, version: 2, wants: "nothing", state: "aborted" });
    const { items } = queuePage(at(next, T0, abort), { limit: 10 }, T0);
    expect(items.map(({ id }) => id)).toEqual(["b0", "a3"]);
  });

  test("each run is on one page of the queue, also on pages of one run", () => {
    const state = begun(...many("a", 4), ...many("b", 2, 10));
    const rows = new Map([...state.runs.live()].map((row) => [row.run, row]));
    const listed: string[] = [];
    let after: RunRow | undefined;
    for (let isLast = false; !isLast; ) {
      const page = queuePage(state, { limit: 1, after }, T0);
      const [item] = page.items;
      listed.push(item?.id ?? "");
      after = rows.get(item?.id ?? "");
      isLast = page.isLast;
    }
    expect(listed).toEqual(queuePage(state, { limit: 10 }, T0).items.map(({ id }) => id));
  });

  test("the queue is listed in that order, with the same places", () => {
    const { items } = queuePage(begun(...many("a", 4), ...many("b", 1, 10)), { limit: 10 }, T0);
    expect(items.map(({ id, position }) => [id, position])).toEqual([
      ["a1", 1],
      ["b0", 2],
      ["a2", 3],
      ["a3", 4],
    ]);
  });

  test("a placement marks another row only if a run of another key waits (budgets.md)", () => {
    const turns = (state: Configured) => [...state.runs.live()].map((row) => [row.run, row.turn]);
    const next = (state: Configured) => at(state, T0, ended(state));
    expect(turns(next(begun(...many("a", 3))))).toEqual([
      ["a1", 5],
      ["a2", 4],
    ]);
    expect(turns(next(begun(...many("a", 3), ...many("b", 1, 10))))).toEqual([
      ["a1", 6],
      ["a2", 6],
      ["b0", 5],
    ]);
  });
});

test("between two turns of a key, each other key that waits has at most one", () => {
  const keys = ["a", "b", "c", "d"];
  const arrivals = fc.array(fc.constantFrom(...keys), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(arrivals, fc.boolean(), (all, forgets) => {
      const state = begun(...all.map((key, n) => says(`${key}.${n}`, key, { submittedAt: T0 + n })));
      const order = drained(state, forgets ? reloaded : undefined).map((id) => id.slice(0, 1));
      expect(order).toHaveLength(all.length);
      // The first was placed when nobody else was there.
      for (let from = 1; from < order.length; from += 1) {
        const next = order.indexOf(order[from] ?? "", from + 1);
        const between = order.slice(from + 1, next < 0 ? from + 1 : next);
        expect(new Set(between).size, order.join("")).toBe(between.length);
      }
    }),
    { numRuns: 300 },
  );
});
