import { describe, expect, test } from "vitest";
import type { RunUpsert } from "../../../../src/core/messages.ts";
import type { PoolEvent } from "../../../../src/core/pool/machine.ts";
import { explainRun } from "../../../../src/core/pool/read/views.ts";
import { isOpen } from "../../../../src/core/pool/record.ts";
import type { Configured } from "../../../../src/core/pool/state.ts";
import type { Concurrency } from "../../../../src/schema/run/start/concurrency.ts";
import {
  answer,
  at,
  configured,
  MINUTE,
  owed,
  reloaded,
  rowOf,
  run,
  T0,
  vcpus,
  workerRow,
} from "../../support/pool.ts";

// What becomes of a run for which its key has no slot (pool.md#concurrency-keys).

const tick: PoolEvent = { type: "tick" };
const concurrency = (strategy: Concurrency["strategy"], more: Partial<Concurrency> = {}): Concurrency => ({
  key: "deploy",
  limit: 1,
  strategy,
  ...more,
});
const wish = (strategy: Concurrency["strategy"], more: Partial<Concurrency> = {}): Partial<RunUpsert> => ({
  ...vcpus(0),
  concurrency: concurrency(strategy, more),
});
const begun = (...events: PoolEvent[]) => at(configured({}, [], [workerRow("w1")]), T0, tick, ...events);
const holders = (state: Configured) => [...state.runs.live()].filter(isOpen).map((row) => row.run);
const replaced = (state: Configured) =>
  [...state.runs.live()].flatMap((row) =>
    row.replacedBy === undefined ? [] : [`${row.run} by ${row.replacedBy.run}`],
  );
const told = (state: Configured, now = T0) => owed(state, now, "end_run").map(({ body }) => body);
const over = { version: 3, state: "aborted", wants: "nothing", epoch: 1, ended: 1 } as const;
const array = (index: number) => ({ array: { id: "n", index, size: 3 } });

describe("cancel-running", () => {
  const says = (id: string, more: Partial<RunUpsert> = {}) => run(id, { ...wish("cancel-running"), ...more });

  test("case 16: the newest waits until the placement of the one before is proven over, and names it", () => {
    const state = begun(says("a"), says("b"));
    expect(told(state)).toEqual([
      { run: "a", submittedAt: T0, reason: "run b replaces it", by: "admin", graceful: true },
    ]);
    expect(explainRun(state, "b", T0)).toMatchObject({
      reason: { code: "concurrency_key", holders: ["a"], keyPosition: 1 },
      chain: [{ what: "run a", text: "placed on worker w1; it has been asked to end" }],
    });
    const stops = at(
      reloaded(state),
      T0,
      says("a", { version: 2, wants: "nothing", state: "running", epoch: 1 }),
    );
    expect(holders(stops)).toEqual(["a"]);
    const unknown = at(stops, T0 + MINUTE, tick);
    expect(holders(unknown)).toEqual(["a"]);
    expect(holders(at(unknown, T0 + MINUTE, says("a", over)))).toEqual(["b"]);
  });

  test("those that wait end, too, and each says by which run", () => {
    const state = begun(says("a"), says("b"), says("c"));
    expect(replaced(state)).toEqual(["a by b", "b by c"]);
    expect(explainRun(state, "b", T0)?.reason).toMatchObject({
      code: "replaced",
      text: "run c replaces it, and so it is being ended",
    });
    expect(holders(at(state, T0, says("a", over)))).toEqual(["c"]);
  });

  test("with a limit, as many of the newest are left, whatever their own strategy is", () => {
    const two = { concurrency: concurrency("cancel-running", { limit: 2 }) };
    const queue = { concurrency: concurrency("queue", { limit: 2 }) };
    const state = begun(says("a", queue), says("b", queue), says("c", queue), says("d", two));
    expect(replaced(state)).toEqual(["a by d", "b by d"]);
    const one = at(state, T0, says("a", { ...over, ...queue }));
    expect(holders(one)).toEqual(["b", "c"]);
    expect(holders(at(one, T0, says("b", { ...over, ...queue })))).toEqual(["c", "d"]);
  });

  test("runs of one array do not end each other, and run one after the other", () => {
    const state = begun(says("old"), ...[0, 1, 2].map((n) => says(`n-${n}`, array(n))));
    expect(replaced(state)).toEqual(["old by n-0"]);
    const first = at(state, T0, says("old", over));
    expect(holders(first)).toEqual(["n-0"]);
    expect(holders(at(first, T0, says("n-0", { ...over, ...array(0) })))).toEqual(["n-1"]);
  });

  test("a run that waits for others ends none before it comes into the queue, nor what came later", () => {
    const waits = { deferred: true, wants: "nothing" as const };
    const state = begun(says("a", wish("queue")), says("b", waits), says("c", wish("queue")));
    expect(replaced(state)).toEqual([]);
    const comes = at(state, T0, says("b", { version: 2 }));
    expect(replaced(comes)).toEqual(["a by b"]);
  });

  test("a run that is to end itself ends none when it comes into the queue", () => {
    const waits = says("d", { wants: "nothing", deferred: true });
    const state = begun(says("n0", array(0)), waits, says("n1", array(1)));
    expect(replaced(state)).toEqual(["d by n1"]);
    expect(replaced(at(state, T0, says("d", { version: 2 })))).toEqual(["d by n1"]);
  });

  test("a late copy of a submission that was refused ends none (messages.md#late-refused)", () => {
    const state = begun(says("f", { submittedAt: T0 + 5 }), says("g", { submittedAt: T0 + 6 }));
    expect(replaced(state)).toEqual(["f by g"]);
    expect(replaced(at(state, T0 + 10, says("f")))).toEqual(["f by g"]);
  });

  test("a run that was refused ends none", () => {
    expect(replaced(begun(says("a"), says("b", vcpus(99))))).toEqual([]);
  });

  test("a run that is told again ends none", () => {
    expect(replaced(begun(says("a"), says("a"), says("a", { version: 2 })))).toEqual([]);
  });
});

describe("queue-one", () => {
  const says = (id: string, more: Partial<RunUpsert> = {}) => run(id, { ...wish("queue-one"), ...more });

  test("case 15: a newer run replaces the one that waits, which says so, and not the one that runs", () => {
    const state = begun(says("a"), says("b"), says("c"), says("d"));
    expect(replaced(state)).toEqual(["b by c", "c by d"]);
    expect(told(state).map((one) => `${one.run}: ${one.reason}`)).toEqual([
      "b: run c replaces it",
      "c: run d replaces it",
    ]);
    expect(holders(state)).toEqual(["a"]);
    expect(holders(at(state, T0, says("a", over)))).toEqual(["d"]);
  });

  test("case 15: a run that waits for its machine only has its slot, and is not replaced", () => {
    const none = at(configured({}, [], []), T0, tick, says("a"), says("b"));
    expect(replaced(none)).toEqual([]);
    expect(replaced(at(none, T0, says("c")))).toEqual(["b by c"]);
  });

  test("case 15: one waits for each key", () => {
    const docs = { concurrency: concurrency("queue-one", { key: "docs" }) };
    expect(replaced(begun(says("a"), says("b"), says("x", docs), says("y", docs)))).toEqual([]);
  });

  test("case 15: an array is one", () => {
    const state = begun(says("a"), says("b"), ...[0, 1, 2].map((n) => says(`n-${n}`, array(n))));
    expect(replaced(state)).toEqual(["b by n-0"]);
  });
});

describe("cancel-new", () => {
  const says = (id: string, more: Partial<RunUpsert> = {}) => run(id, { ...wish("cancel-new"), ...more });

  test("a run is refused while the key has no slot, and the holder is named", () => {
    const state = begun(says("a"));
    const refused = answer(state, "b", wish("cancel-new"));
    expect(refused).toEqual({
      kind: "refused",
      code: "concurrency_held",
      text:
        'the concurrency key "deploy" has no slot for another run: at most 1 may be there, and run a is; ' +
        "nothing was stored. Submit it again when that has ended, or choose the strategy `queue`, with " +
        "which it waits",
      runs: ["a"],
    });
    expect(rowOf(at(state, T0, says("b")), "b")).toBeUndefined();
    const free = at(state, T0, says("a", over), says("b"));
    expect(holders(free)).toEqual(["b"]);
  });

  test("a run that waits counts, and one that is being replaced and has no slot does not", () => {
    const queue = wish("queue");
    const busy = begun(says("a", queue), says("b", queue));
    expect(answer(busy, "c", wish("cancel-new", { limit: 2 }))).toMatchObject({ runs: ["a", "b"] });
    const ending = begun(
      run("a", wish("queue-one")),
      run("b", wish("queue-one")),
      run("c", wish("queue-one")),
    );
    expect(answer(ending, "d", wish("cancel-new", { limit: 2 }))).toMatchObject({ runs: ["a", "c"] });
    expect(answer(ending, "d", wish("cancel-new", { limit: 3 }))).toMatchObject({ kind: "none" });
  });

  test("a run that is there is found again, however many there are", () => {
    const state = begun(says("a"));
    expect(answer(state, "a", wish("cancel-new"))).toMatchObject({ kind: "placed" });
  });

  test("runs of one array do not refuse each other", () => {
    expect(holders(begun(...[0, 1].map((n) => says(`n-${n}`, array(n)))))).toEqual(["n-0"]);
  });
});

describe("queueMax", () => {
  test.each([
    { strategy: "queue", queueMax: 0, taken: ["a"] },
    { strategy: "queue", queueMax: 2, taken: ["a", "b", "c"] },
    { strategy: "round-robin", queueMax: 1, taken: ["a", "b"] },
  ] as const)(
    "case 15: $strategy with $queueMax takes $taken of four runs",
    ({ strategy, queueMax, taken }) => {
      const state = begun(...["a", "b", "c", "d"].map((id) => run(id, wish(strategy, { queueMax }))));
      expect([...state.runs.live()].map((row) => row.run)).toEqual(taken);
    },
  );

  test("case 15: a run that finds it full is refused with the key, numbers, names, and what to do", () => {
    const state = begun(...["a", "b"].map((id) => run(id, wish("queue"))));
    expect(answer(state, "c", wish("queue", { queueMax: 1 }))).toEqual({
      kind: "refused",
      code: "concurrency_full",
      text:
        '2 runs with the concurrency key "deploy" have not ended (runs a and b), and another one may come ' +
        "only while there are fewer than 2: `limit` 1, `queueMax` 1; nothing was stored. Submit it again " +
        "when some have ended, or with a higher `queueMax`",
      runs: ["a", "b"],
    });
  });

  test("case 15: runs that wait only for a machine fill the slots first", () => {
    const none = configured({}, [], []);
    const state = at(
      none,
      T0,
      tick,
      ...["a", "b", "c"].map((id) => run(id, wish("queue", { limit: 2, queueMax: 0 }))),
    );
    expect([...state.runs.live()].map((row) => row.run)).toEqual(["a", "b"]);
  });
});
