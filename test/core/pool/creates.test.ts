import { describe, expect, test } from "vitest";
import { CREATE_NOT_AFTER_MS } from "../../../src/core/limits.ts";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { cheapestFitting, plan } from "../../../src/core/pool/plan.ts";
import {
  at,
  configured,
  NEED,
  owed,
  reloaded,
  run,
  T0,
  vcpus,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";

const TYPES = {
  large: { vcpus: 16, memory: "64GiB", price: 4 },
  medium: { vcpus: 8, memory: "4GiB", price: 2 },
  memory: { vcpus: 2, memory: "64GiB", price: 3 },
  small: { vcpus: 4, memory: "1GiB", price: 1 },
};
const tick: PoolEvent = { type: "tick" };
const creates = (...args: Parameters<typeof configured>) => plan(configured(...args), T0).creates;

describe("the cheapest instance type that holds the run is asked for (arvados.md §6.3)", () => {
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
    expect(cheapestFitting(configured({ instanceTypes: TYPES }), { ...NEED, ...need })?.name).toBe(name);
  });

  test("of two that cost the same, the first by name", () => {
    const same = { vcpus: 4, memory: "1GiB", price: 1 };
    expect(cheapestFitting(configured({ instanceTypes: { b: same, a: same, c: same } }), NEED)?.name).toBe(
      "a",
    );
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

  test("one, if what is free does not fit", () => {
    expect(creates({}, [waiting("a", vcpus(4)), waiting("b", vcpus(4))], [workerRow("w1")])).toEqual([
      "small",
    ]);
  });
});

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

describe("`maxConcurrentCreates` counts the machines that have no instance yet", () => {
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

describe("a permit is a row before anything else is told (invariant 3)", () => {
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
    expect(owed(state, T0, "create")).toHaveLength(1);
    const { upsert } = workerSays("default-s-1", {
      version: 1,
      phase: "booting",
      instance: null,
      readyAt: null,
      booted: false,
    });
    const answered = at(state, T0, {
      type: "worker_answered",
      poked: false,
      worker: "default-s-1",
      answer: { kind: "worker", worker: upsert },
    });
    expect(owed(answered, T0, "create")).toEqual([]);
    expect(answered.workers.get("default-s-1")?.phase).toBe("booting");
  });

  test("a name is never used twice (invariant 3)", () => {
    let state = at(configured(), T0, run("a"));
    state = at(state, T0, workerSays("default-s-1", { phase: "gone" }), tick);
    expect([...state.workers.live()].map((row) => row.worker)).toEqual(["default-s-2"]);
  });
});

describe("machines that end without ever having been ready hold the next ones off", () => {
  const failing = (worker: string, version = 2) =>
    workerSays(worker, { version, phase: "gone", booted: false, readyAt: null, reason: "no" });
  /** So many machines fail, one after the other, each as soon as it may be asked for. */
  const afterFailures = (count: number) => {
    let now = T0;
    let state = at(configured(), now, run("a"));
    for (let i = 1; i <= count; i += 1) {
      state = at(state, now, failing(`default-s-${i}`));
      if (i < count) {
        now = state.record.hold?.until ?? now;
        state = at(state, now, tick);
      }
    }
    return { state, now };
  };

  test.each([
    [1, 5_000],
    [2, 10_000],
    [3, 20_000],
    [7, 320_000],
    [8, 600_000],
    [12, 600_000],
  ])("after %d in a row: for %d ms", (count, ms) => {
    const { state, now } = afterFailures(count);
    expect(state.record.hold).toMatchObject({ failures: count, until: now + ms, reason: "no" });
  });

  test("the pool wakes at its end, while somebody waits, and asks again", () => {
    const { state, now } = afterFailures(1);
    expect(poolMachine.wakeAt(state)).toBe(now + 5_000);
    expect([...at(state, now + 4_999, tick).workers.live()]).toEqual([]);
    expect([...at(state, now + 5_000, tick).workers.live()]).toHaveLength(1);
  });

  test("the pool wakes at its end, too, if machines are missing that it is to keep", () => {
    const state = at(at(configured({ minInstances: 1 }), T0, tick), T0, failing("default-s-1"));
    expect(poolMachine.wakeAt(state)).toBe(T0 + 5_000);
  });

  test("once it is over it wakes the pool no more, though it still counts the failures", () => {
    const { state, now } = afterFailures(2);
    const next = at(state, now + 10_000, tick);
    expect(next.record.hold?.failures).toBe(2);
    expect(poolMachine.wakeAt(next)).toBeUndefined();
  });

  test("one that has been ready ends it", () => {
    const { state, now } = afterFailures(3);
    const next = at(state, now + 20_000, tick);
    expect(at(next, now + 30_000, workerSays("default-s-4")).record.hold).toBeNull();
  });

  test("the word of a machine that has been ready for long says nothing of the next ones", () => {
    const old = workerRow("old");
    let state = at(configured({}, [], [old]), T0, run("a", vcpus(4)), run("b", vcpus(4)));
    state = at(state, T0, failing("default-s-1"));
    expect(state.record.hold?.failures).toBe(1);
    state = at(
      state,
      T0,
      workerSays("old", { version: 2 }),
      workerSays("old", { version: 3, phase: "unknown" }),
      workerSays("old", { version: 4 }),
    );
    expect(state.record.hold?.failures).toBe(1);
  });

  test.each([
    ["the same end once more", failing("default-s-1", 3)],
    ["the end of one that was ready", workerSays("w9", { phase: "gone" })],
  ])("%s counts no second time", (_what, event) => {
    const state = at(
      configured({}, [], [workerRow("w9")]),
      T0,
      run("a"),
      run("b", vcpus(4)),
      failing("default-s-1"),
      event,
    );
    expect(state.record.hold?.failures).toBe(1);
  });

  test("shutdown, and then gone, is one failure", () => {
    const shutdown = workerSays("default-s-1", { phase: "shutdown", booted: false, readyAt: null });
    const state = at(configured(), T0, run("a"), shutdown, failing("default-s-1", 3));
    expect(state.record.hold?.failures).toBe(1);
  });

  test("another configuration ends it: it may well be the cure", () => {
    const { state, now } = afterFailures(3);
    const configure = {
      pool: "default",
      revision: 2,
      config: { ...state.record.config, image: "new" },
      seed: "s",
    };
    expect(at(state, now, { type: "configure", configure }).record.hold).toBeNull();
  });

  test("it keeps no run from a machine that is there", () => {
    const hold = { failures: 9, until: T0 + 600_000, reason: "no" };
    const state = configured({}, [waiting("a")], [workerRow("w1")]);
    expect(plan({ ...state, record: { ...state.record, hold } }, T0).places).toHaveLength(1);
  });
});
