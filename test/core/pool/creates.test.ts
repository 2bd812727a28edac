import { describe, expect, test } from "vitest";
import type { PoolEvent } from "../../../src/core/pool/machine.ts";
import { eligibleOffers } from "../../../src/core/pool/plan/eligible.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import type { WorkerRow } from "../../../src/core/pool/record.ts";
import { CREATE_NOT_AFTER_MS } from "../../../src/shared/limits.ts";
import {
  at,
  configured,
  createsOf,
  NEED,
  owed,
  placed,
  reloaded,
  run,
  T0,
  vcpus,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

const TYPES = {
  large: { vcpus: 16, memory: "64GiB", price: 4 },
  medium: { vcpus: 8, memory: "4GiB", price: 2 },
  memory: { vcpus: 2, memory: "64GiB", price: 3 },
  small: { vcpus: 4, memory: "1GiB", price: 1 },
};
const tick: PoolEvent = { type: "tick" };
const eligible = (more: Parameters<typeof poolConfig>[0], need = NEED) =>
  eligibleOffers(poolConfig(more), { resources: need }).map((offer) => offer.name);
const creates = (...args: Parameters<typeof configured>) => createsOf(plan(configured(...args), T0));

describe("the cheapest instance type that holds the run is asked for (pool.md#choice-of-the-type)", () => {
  test.each([
    ["a small run", {}, "small"],
    ["many vCPUs", { vcpus: 5 }, "medium"],
    ["more vCPUs", { vcpus: 9 }, "large"],
    ["much memory", { memoryBytes: 10 * 2 ** 30 }, "memory"],
    ["much of both", { vcpus: 3, memoryBytes: 10 * 2 ** 30 }, "large"],
    ["95 % of its memory", { memoryBytes: Math.floor(2 ** 30 * 0.95) }, "small"],
    ["more than 95 % of its memory", { memoryBytes: Math.floor(2 ** 30 * 0.95) + 1 }, "medium"],
    ["more than there is", { vcpus: 17 }, undefined],
  ])("%s", (_what, need, name) => {
    expect(eligible({ instanceTypes: TYPES }, { ...NEED, ...need })[0]).toBe(name);
  });

  test("of two that cost the same, the first by name", () => {
    const same = { vcpus: 4, memory: "1GiB", price: 1 };
    expect(eligible({ instanceTypes: { b: same, a: same, c: same } })[0]).toBe("a");
  });
});

describe("which types are eligible is decided by price, up to a factor (pool.md#choice-of-the-type)", () => {
  const priced = (prices: Record<string, number>) =>
    Object.fromEntries(
      Object.entries(prices).map(([name, price]) => [name, { vcpus: 4, memory: "1GiB", price }]),
    );

  test.each<[string, Record<string, number>, number | undefined, string[]]>([
    ["half as much again, unless the pool says otherwise", { a: 1.51, b: 1.5, c: 1 }, undefined, ["c", "b"]],
    ["the very factor is kept", { a: 2.01, b: 2, c: 1 }, 2, ["c", "b"]],
    ["a factor of one keeps those at the lowest price", { a: 1.01, b: 1, c: 1 }, 1, ["b", "c"]],
    ["what costs nothing is dearer by no factor", { a: 0.01, b: 0 }, 10, ["b"]],
  ])("%s", (_what, prices, priceFactor, names) => {
    expect(eligible({ instanceTypes: priced(prices), priceFactor })).toEqual(names);
  });

  test("the lowest price is that of the types that fit", () => {
    const instanceTypes = { ...priced({ a: 4, b: 5 }), tiny: { vcpus: 1, memory: "1GiB", price: 1 } };
    expect(eligible({ instanceTypes }, { ...NEED, vcpus: 2 })).toEqual(["a", "b"]);
  });

  test("at the same price the one with more memory, then vCPUs, then disk comes first", () => {
    const instanceTypes = {
      a: { vcpus: 4, memory: "1GiB", price: 1 },
      b: { vcpus: 4, memory: "1GiB", disk: "1GiB", price: 1 },
      c: { vcpus: 5, memory: "1GiB", price: 1 },
      d: { vcpus: 4, memory: "2GiB", price: 1 },
    };
    expect(eligible({ instanceTypes })).toEqual(["d", "c", "b", "a"]);
  });
});

describe("so many machines are kept as `minInstances` says", () => {
  test.each<[string, WorkerRow[], number]>([
    ["none is there", [], 2],
    ["one is asked for", [workerRow("w1", "asked")], 1],
    ["one is silent: it may come back", [workerRow("w1", "unknown")], 1],
    ["one is being destroyed", [workerRow("w1", "shutdown")], 2],
    ["one drains", [workerRow("w1", "ready", { idleBehavior: "drain" })], 2],
    ["one may stop, by our consent", [workerRow("w1", "ready", { stopUntil: T0 + 1 })], 2],
    ["both are there, and full", [workerRow("w1"), workerRow("w2")], 0],
  ])("%s", (_what, workers, count) => {
    const on = workers.map((row) => placed(`on-${row.worker}`, row.worker, vcpus(4)));
    expect(creates({ minInstances: 2 }, on, workers)).toHaveLength(count);
  });

  test("never beyond `maxInstances`, whatever the others are", () => {
    expect(creates({ minInstances: 2, maxInstances: 2 }, [], [workerRow("w1", "shutdown")])).toHaveLength(1);
  });
});

describe("machines are asked for by need, several runs each", () => {
  test("runs are packed onto the machine that the first one asks for", () => {
    const runs = ["a", "b", "c", "d", "e"].map((id) => waiting(id));
    expect(creates({}, runs)).toEqual(["small", "small"]);
    expect(creates({ maxRunsPerInstance: 1 }, runs.slice(0, 3))).toEqual(["small", "small", "small"]);
  });

  test("none, while something that fits is free", () => {
    expect(creates({}, [waiting("a", vcpus(4))], [workerRow("w1")])).toEqual([]);
  });

  test("one, if what is free does not fit (pool.md#rule-5)", () => {
    expect(creates({}, [waiting("a", vcpus(4)), waiting("b", vcpus(4))], [workerRow("w1")])).toEqual([
      "small",
    ]);
  });
});

// pool.md#quota-3, pool.md#create-step-2
describe("`maxInstances` counts every machine that may exist (invariant 9)", () => {
  const runs = ["a", "b", "c", "d"].map((id) => waiting(id, vcpus(4)));

  test.each(["asked", "booting", "unknown", "shutdown"] as const)("one that is %s counts", (phase) => {
    const behavior = phase === "asked" || phase === "booting" ? ({ idleBehavior: "drain" } as const) : {};
    const workers = [workerRow("w1", phase, behavior)];
    expect(creates({ maxInstances: 3 }, runs, workers)).toEqual(["small", "small"]);
  });

  test("one that is gone does not", () => {
    expect(creates({ maxInstances: 3 }, runs, [workerRow("w1", "gone")])).toHaveLength(3);
  });

  test.each([
    [0, 0],
    [1, 1],
    [3, 3],
    [4, 4],
    [5, 4],
  ])("%d allow %d", (maxInstances, count) => {
    expect(creates({ maxInstances }, runs)).toHaveLength(count);
  });
});

describe("`maxConcurrentCreates` counts machines that have no instance yet (pool.md#create-step-3)", () => {
  const runs = ["a", "b", "c"].map((id) => waiting(id, vcpus(4)));
  const drained = { idleBehavior: "drain" } as const;

  test.each<[string, Parameters<typeof workerRow>[2], number]>([
    ["while it has none", {}, 1],
    ["once it has one", { instance: "i-1" }, 2],
  ])("a booting one counts %s", (_what, more, count) => {
    const workers = [workerRow("w1", "booting", { ...drained, ...more })];
    expect(creates({ maxConcurrentCreates: 2 }, runs, workers)).toHaveLength(count);
  });

  test("one that is being destroyed does not count", () => {
    expect(
      creates({ maxConcurrentCreates: 2 }, runs, [workerRow("w1", "shutdown", { instance: null })]),
    ).toHaveLength(2);
  });
});

describe("`minInstances` are kept without a run", () => {
  test.each<[string, Parameters<typeof configured>, string[]]>([
    ["so many", [{ instanceTypes: TYPES, minInstances: 2 }], ["small", "small"]],
    ["less those that there are", [{ minInstances: 2 }, [], [workerRow("w1")]], ["small"]],
    ["never more than `maxInstances`", [{ minInstances: 3, maxInstances: 1 }], ["small"]],
    [
      "no more at once than may be created at once",
      [{ minInstances: 3, maxConcurrentCreates: 2 }],
      ["small", "small"],
    ],
    ["what runs have asked for counts", [{ minInstances: 1 }, [waiting("a")]], ["small"]],
    ["none, by default", [{}], []],
  ])("%s", (_what, args, expected) => {
    expect(creates(...args)).toEqual(expected);
  });
});

describe("a permit is a row before anything else is told (invariant 3, pool.md#create-step-4)", () => {
  test("it is in the ledger, and the worker is told to become a machine", () => {
    const state = at(configured(), T0, run("a"));
    expect([...state.workers.live()]).toMatchObject([
      { worker: "default-s-1", phase: "asked", notAfter: T0 + CREATE_NOT_AFTER_MS },
    ]);
    expect(owed(state, T0, "create")).toMatchObject([
      {
        to: "default-s-1",
        repeatedBy: "self",
        body: {
          worker: "default-s-1",
          pool: "default",
          instanceType: "small",
          notAfter: T0 + CREATE_NOT_AFTER_MS,
        },
      },
    ]);
  });

  test("it is not given twice: the plan counts on it", () => {
    const state = at(configured(), T0, run("a"), tick, run("b"), tick);
    expect([...state.workers.live()]).toHaveLength(1);
  });

  test("it is told until the worker has answered, over a restart too", () => {
    const state = reloaded(at(configured(), T0, run("a")));
    const [create] = owed(state, T0, "create");
    const { body: upsert } = workerSays("default-s-1", {
      version: 1,
      phase: "booting",
      instance: null,
      readyAt: null,
      bootOutcome: null,
    });
    if (create === undefined) throw new Error("it is not told");
    const answer = { kind: "worker" as const, worker: upsert };
    const answered = at(state, T0, { type: "create_answered", sent: create.body, answer });
    expect(owed(answered, T0, "create")).toEqual([]);
    expect(answered.workers.get("default-s-1")?.phase).toBe("booting");
  });

  test("a name is never used twice (invariant 3)", () => {
    let state = at(configured(), T0, run("a"));
    state = at(state, T0, workerSays("default-s-1", { phase: "gone" }), tick);
    expect([...state.workers.live()].map((row) => row.worker)).toEqual(["default-s-2"]);
  });
});
