import { describe, expect, test, vi } from "vitest";
import type { PoolEvent } from "../../../src/core/pool/machine.ts";
import { explainRun, poolView } from "../../../src/core/pool/read/views.ts";
import type { RunRow, WorkerRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import { PoolConfig, type PoolConfigInput } from "../../../src/schema/pool.ts";
import {
  answer,
  at,
  configured,
  owed,
  placed,
  placesOf,
  rowOf,
  run,
  T0,
  vcpus,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

type Quota = NonNullable<PoolConfigInput["projects"]>[string];

/** A pool in which `ml` has a quota. */
const limited = (quota: Quota, more: Partial<PoolConfigInput> = {}): Partial<PoolConfigInput> => ({
  projects: { default: {}, ml: quota },
  ...more,
});
const ml = { project: "ml" };
const mine = (worker: string, more: Partial<WorkerRow> = {}) =>
  workerRow(worker, "ready", { project: "ml", ...more } as Partial<Omit<WorkerRow, "kind">>); // of no kind
const paid = (perHour: number, payer = "t1") => ({ budget: { payer, perHour } });
const ended = (id: string): PoolEvent =>
  run(id, { ...ml, version: 2, state: "complete", wants: "nothing", epoch: 1, ended: 1 });

const why = (state: Configured, id: string) => {
  const { reason, next } = explainRun(state, id, T0) ?? {};
  return [reason?.code, reason?.text, next?.waitsFor];
};
const asked = (state: Configured) =>
  [...state.workers.live()].filter(({ phase }) => phase === "asked").length;
const tick: PoolEvent = { type: "tick" };
const plan = (config: Partial<PoolConfigInput>, runs: RunRow[], workers: WorkerRow[]) =>
  at(configured(config, runs, workers), T0, tick);

describe("maxRuns: how many runs of a project are placed at once (projects.md#quotas)", () => {
  const runs = () => [placed("x", "w1", ml), waiting("a", ml), waiting("b")];

  test("its next run waits, and blocks nobody behind it", () => {
    const state = plan(limited({ maxRuns: 1 }), runs(), [mine("w1"), workerRow("w2")]);
    expect(rowOf(state, "b")).toMatchObject({ worker: "w2" });
    expect(why(state, "a")).toEqual([
      "project_quota",
      'its project, "ml", is at its limit in this pool (`maxRuns` = 1; placed, or about to be: 1)',
      "command",
    ]);
    expect(state.memo.latest.pass?.reserved).toBeNull();
    expect(asked(state)).toBe(0);
  });

  test("it is placed once another one has ended", () => {
    const state = at(configured(limited({ maxRuns: 1 }), runs(), [mine("w1")]), T0, ended("x"));
    expect(rowOf(state, "a")).toMatchObject({ worker: "w1" });
  });

  test("a run that counts on a booting machine has its part of the quota: no machine is made in vain", () => {
    const state = plan(limited({ maxRuns: 2 }), [waiting("a", ml), waiting("b", ml), waiting("c", ml)], []);
    expect(asked(state)).toBe(1);
    expect(why(state, "c")[0]).toBe("project_quota");
    const more = plan(limited({ maxRuns: 1 }), [waiting("a", { ...ml, ...vcpus(4) }), waiting("b", ml)], []);
    expect(asked(more)).toBe(1);
  });

  test("a lower quota stops nothing that runs", () => {
    const on = [placed("x", "w1", ml), placed("y", "w1", ml), waiting("a", ml)];
    const before = configured(limited({ maxRuns: 3 }), on, [mine("w1")]);
    const config = poolConfig(limited({ maxRuns: 1 }));
    const after: PoolEvent = { type: "configure", body: { pool: "default", revision: 2, config, seed: "s" } };
    const state = at(before, T0, after);
    expect([rowOf(state, "x"), rowOf(state, "y")]).toMatchObject([{ ended: 0 }, { ended: 0 }]);
    expect(why(state, "a")[0]).toBe("project_quota");
  });

  test("with a pool that it has for itself, the quota holds as well", () => {
    const state = plan(
      { projects: { ml: { maxRuns: 1 } } },
      [waiting("a", ml), waiting("b", ml)],
      [mine("w1")],
    );
    expect([rowOf(state, "a")?.worker, rowOf(state, "b")?.worker]).toEqual(["w1", null]);
  });
});

describe("maxInstances: how many machines a project has (projects.md#quotas)", () => {
  test("its runs use the machines that there are, or wait; none is made or taken from nobody", () => {
    const runs = [
      waiting("a", { ...ml, ...vcpus(3) }),
      waiting("b", { ...ml, ...vcpus(3) }),
      waiting("c", vcpus(4)),
    ];
    const state = plan(limited({ maxInstances: 1 }), runs, [mine("w1"), workerRow("w2")]);
    expect(rowOf(state, "a")).toMatchObject({ worker: "w1" });
    expect(rowOf(state, "c")).toMatchObject({ worker: "w2" });
    expect(asked(state)).toBe(0);
    expect(why(state, "b")).toEqual([
      "project_quota",
      'no machine of its project has room, and its project, "ml", is at its limit in this pool ' +
        "(`maxInstances` = 1; there, or being made: 1)",
      "command",
    ]);
  });

  test("a machine that is made for one of its runs counts, the second time as the first", () => {
    const runs = [waiting("a", { ...ml, ...vcpus(4) }), waiting("b", { ...ml, ...vcpus(4) })];
    const once = plan(limited({ maxInstances: 1 }), runs, []);
    expect(asked(once)).toBe(1);
    expect(asked(at(once, T0 + 1, tick))).toBe(1);
    const ready = at(once, T0 + 2, workerSays("default-s-1"));
    expect(rowOf(ready, "a")).toMatchObject({ worker: "default-s-1" });
    expect(why(ready, "b")[0]).toBe("project_quota");
  });

  test("what minInstances keeps is nobody's", () => {
    const state = plan(limited({ maxInstances: 1 }, { minInstances: 3 }), [waiting("a", ml)], [mine("w1")]);
    expect(rowOf(state, "a")).toMatchObject({ worker: "w1" });
    expect(asked(state)).toBe(2);
  });

  describe("a project whose machines could never hold its run (projects.md#room-within-a-quota)", () => {
    const instanceTypes = {
      small: { vcpus: 4, memory: "1GiB", price: 1 },
      big: { vcpus: 8, memory: "2GiB", price: 2 },
    };
    const big = waiting("big", { ...ml, ...vcpus(8) });
    const on = (quota: Quota, more: Partial<PoolConfigInput> = {}) =>
      limited(quota, { instanceTypes, minInstances: 1, ...more });

    test.each<Quota>([{ maxInstances: 1 }, { maxCostPerHour: 2 }])(
      "has the least used one end, though minInstances would keep it, and then another made: %j",
      (quota) => {
        const state = plan(on(quota), [big], [mine("w1")]);
        expect(owed(state, T0, "make_room").map(({ to }) => to)).toEqual(["w1"]);
        expect(why(state, "big")[1]).toContain("worker w1 takes no other runs, and ends when it is idle");
        const gone = workerSays("w1", { phase: "gone", version: 3, reason: "" });
        const made = at(state, T0, workerSays("w1", { wantsStop: true }), gone);
        expect([...made.workers.live()].map(({ instanceType }) => instanceType)).toContain("big");
      },
    );

    test("waits for a machine that ends already, and for nothing that could not help", () => {
      const reservedIn = (config: Partial<PoolConfigInput>, workers: WorkerRow[], run = big) =>
        plan(config, [run], workers).memo.latest.pass?.reserved;
      const leaving = { phase: "shutdown", endingAt: T0 } as const;
      expect(reservedIn(on({ maxInstances: 2 }), [mine("w1"), mine("w2", leaving)])).toBeNull();
      expect(reservedIn(on({ maxInstances: 1, maxCostPerHour: 1.5 }), [mine("w1")])).toBeNull();
      const poor = waiting("big", { ...ml, ...vcpus(8), ...paid(1) });
      expect(reservedIn(on({ maxInstances: 1 }), [mine("w1")], poor)).toBeNull();
      const booting = workerRow("w1", "booting", { project: null });
      expect(reservedIn(on({ maxInstances: 1 }), [booting])).toBeNull();
    });
  });

  test("a self-hosted machine counts for no quota", () => {
    const resources = { vcpus: 4, memoryBytes: 1e9, diskBytes: 0, gpus: 0 };
    const own = workerRow("own", "ready", { kind: "self-hosted", resources });
    const runs = [placed("x", "w1", { ...ml, ...vcpus(4) }), waiting("a", ml)];
    expect(
      placesOf(configured(limited({ maxInstances: 1, maxCostPerHour: 1 }), runs, [mine("w1"), own])),
    ).toEqual(["a@own"]);
  });

  test("with shareMachines it is refused, since no project has machines then", () => {
    const shared = { ...poolConfig(), ...limited({ maxInstances: 1 }), shareMachines: true };
    expect(PoolConfig.safeParse(shared).error?.issues).toMatchObject([
      { path: ["projects", "ml", "maxInstances"], message: expect.stringContaining("`shareMachines`") },
    ]);
    expect(PoolConfig.safeParse({ ...shared, shareMachines: false }).success).toBe(true);
  });
});

describe("maxCostPerHour: what a project's part of a pool costs (projects.md#quotas)", () => {
  test("its machines cost their prices: no further one is made or taken beyond the quota", () => {
    const runs = [waiting("a", { ...ml, ...vcpus(4) }), waiting("b", { ...ml, ...vcpus(4) })];
    const state = plan(limited({ maxCostPerHour: 2.5 }), runs, [
      mine("w1", { listedPrice: { price: 1.5, since: T0 } }),
    ]);
    expect(rowOf(state, "a")).toMatchObject({ worker: "w1" });
    expect(asked(state)).toBe(1);
    const tight = plan(limited({ maxCostPerHour: 2.4 }), runs, [
      mine("w1", { listedPrice: { price: 1.5, since: T0 } }),
    ]);
    expect(asked(tight)).toBe(0);
    expect(why(tight, "b")).toEqual([
      "project_quota",
      'its project, "ml", costs 1.5 per hour in this pool; with this run it would cost at least 2.5, and ' +
        "`maxCostPerHour` is 2.4",
      "command",
    ]);
  });

  test("with shareMachines its placed runs count, by what they take of their machines", () => {
    const shared = limited({ maxCostPerHour: 0.5 }, { shareMachines: true });
    const runs = [
      placed("x", "w1", { ...ml, ...vcpus(1) }),
      placed("y", "w1", vcpus(1)),
      waiting("a", ml),
      waiting("b", ml),
    ];
    const state = plan(shared, runs, [workerRow("w1")]);
    expect([rowOf(state, "a")?.worker, rowOf(state, "b")?.worker]).toEqual(["w1", null]);
    expect(why(state, "b")[0]).toBe("project_quota");
  });

  test("prices that do not add up exactly are no reason: three times 0.1 is 0.3", () => {
    const price = { listedPrice: { price: 0.1, since: T0 } };
    const runs = [1, 2, 3].map((n) => waiting(`r${n}`, { ...ml, ...vcpus(4) }));
    const workers = [1, 2, 3].map((n) => workerRow(`w${n}`, "ready", price));
    expect(placesOf(configured(limited({ maxCostPerHour: 0.3 }), runs, workers))).toHaveLength(3);
  });

  test("an unknown price counts as 0", () => {
    const type = { vcpus: 4, memory: "1GiB", disk: "0", gpus: 0 };
    const state = plan(
      limited({ maxCostPerHour: 0.1 }),
      [waiting("a", ml)],
      [workerRow("w1", "ready", { type })],
    );
    expect(rowOf(state, "a")).toMatchObject({ worker: "w1" });
  });
});

describe("a budget: what the placed runs of one payer cost (projects.md#budgets-of-tokens)", () => {
  test("a run is placed as long as its rate is within what is left, whatever its project", () => {
    const runs = [1, 2, 3].map((n) => waiting(`r${n}`, { ...vcpus(1), ...paid(0.5) }));
    const state = plan({}, runs, [workerRow("w1")]);
    expect(runs.map(({ run: id }) => rowOf(state, id)?.worker)).toEqual(["w1", "w1", null]);
    expect(why(state, "r3")).toEqual([
      "budget",
      "the budget of its token is 0.5 per hour in each pool; the runs that are paid from it cost 0.5 here, " +
        "and with this one at least 0.75",
      "command",
    ]);
    expect(asked(state)).toBe(0);
  });

  test("another payer has a budget of its own, and a run without one is never held back", () => {
    const runs = [
      placed("x", "w1", { ...vcpus(1), ...paid(0.25) }),
      waiting("a", { ...vcpus(1), ...paid(0.25) }),
      waiting("b", { ...vcpus(1), ...paid(0.25, "t2") }),
      waiting("c", vcpus(1)),
    ];
    expect(placesOf(configured({}, runs, [workerRow("w1")]))).toEqual(["b@w1", "c@w1"]);
  });

  test("a run that nothing could pay for gets no machine, and says so for good", () => {
    const state = plan({}, [waiting("a", { ...vcpus(4), ...paid(0.9) })], []);
    expect(asked(state)).toBe(0);
    expect(why(state, "a")).toEqual([
      "budget",
      "the budget of its token is 0.9 per hour in each pool; the runs that are paid from it cost 0 here, " +
        "and with this one at least 1",
      "operator",
    ]);
  });

  test("it is not placed on a machine of unknown price, and none such is made for it", () => {
    const type = { vcpus: 4, memory: "1GiB", disk: "0", gpus: 0 };
    const config = { instanceTypes: { small: { vcpus: 4, memory: "1GiB" } } };
    const state = plan(config, [waiting("a", paid(99))], [workerRow("w1", "ready", { type })]);
    expect(rowOf(state, "a")).toMatchObject({ worker: null });
    expect(asked(state)).toBe(0);
    expect(why(state, "a")[1]).toContain("unknown");
    expect(why(state, "a")[2]).toBe("operator");
  });

  test("a self-hosted machine costs nothing, so a run is placed there however little is left", () => {
    const resources = { vcpus: 4, memoryBytes: 1e9, diskBytes: 0, gpus: 0 };
    const own = workerRow("own", "ready", { kind: "self-hosted", resources });
    const runs = [placed("x", "w1", { ...vcpus(4), ...paid(1) }), waiting("a", paid(1))];
    expect(placesOf(configured({}, runs, [workerRow("w1"), own]))).toEqual(["a@own"]);
  });

  test("a type that it can pay is asked for, though a cheaper one would come first", () => {
    const instanceTypes = {
      // A run of 1 GiB takes all of the first, and a half of the second.
      lean: { vcpus: 4, memory: "1100MiB", price: 1 },
      large: { vcpus: 4, memory: "4400MiB", price: 1.2 },
    };
    const need = { resources: { vcpus: 1, memoryBytes: 2 ** 30, diskBytes: 0, gpus: 0 } };
    const state = plan({ instanceTypes }, [waiting("a", { ...need, ...paid(0.5) })], []);
    expect([...state.workers.live()].map(({ instanceType }) => instanceType)).toEqual(["large"]);
  });

  test("a run that is held back hides no machine from a like run that is not", () => {
    const full = { maxInstances: 1 };
    const more = { ...vcpus(2), submittedAt: T0 + 1 };
    const runs = [
      waiting("a", { ...vcpus(2), ...paid(0.1) }),
      waiting("b", { ...more, ...paid(5) }),
      waiting("c", more),
    ];
    expect(placesOf(configured(full, runs, [workerRow("w1")]))).toEqual(["b@w1", "c@w1"]);
  });
});

describe("maxStoredBytes: what the runs of a project have stored (projects.md#stored-bytes)", () => {
  const config = limited({ maxStoredBytes: "1KiB" });
  const over = (id: string, storedBytes: number, more = {}) =>
    run(id, { ...ml, version: 2, state: "complete", wants: "nothing", storedBytes, ...more });
  const full = () => at(configured(config), T0, over("a", 1_000), over("b", 24));

  test("beyond it, no run of the project is accepted, and the refusal says what to do", () => {
    expect(answer(full(), "c", ml)).toEqual({
      kind: "refused",
      code: "project_full",
      text:
        'the runs of project "ml" have stored 1KiB of output in this pool, and may store 1KiB ' +
        "(`maxStoredBytes`): delete ended runs, or let the operator shorten `retention.runs` of the pool " +
        "or raise the quota",
    });
    expect(rowOf(at(full(), T0, run("c", ml)), "c")).toBeUndefined();
  });

  test("one byte less, and it is; other projects are not concerned", () => {
    const other = over("other", 9_999, { project: "default" });
    const state = at(configured(config), T0, over("a", 1_023), other);
    expect(answer(at(state, T0, run("c", ml)), "c", ml)).toMatchObject({ kind: "queued" });
    expect(answer(at(full(), T0, run("c")), "c")).toMatchObject({ kind: "queued" });
  });

  test("a repeated submission of an accepted run is not refused", () => {
    const state = at(configured(config), T0, run("c", ml), over("a", 9_999));
    expect(answer(at(state, T0, run("c", ml)), "c", ml)).toMatchObject({ kind: "queued" });
  });

  test("the sum follows what ends, and what is forgotten, without reading the table again", () => {
    const state = full();
    const ask = vi.spyOn(state.runs, "sums");
    expect(answer(state, "c", ml)).toMatchObject({ code: "project_full" });
    const sent = { run: "b", submittedAt: T0 };
    const gone = at(
      state,
      T0,
      { type: "unwanted", run: sent, by: "admin" },
      { type: "forget_answered", sent, answer: { kind: "forgotten" } },
    );
    expect(answer(gone, "c", ml)).toMatchObject({ kind: "none" });
    const again = at(gone, T0, run("c", ml), over("c", 25, { version: 3 }));
    expect(answer(again, "d", ml)).toMatchObject({ code: "project_full" });
    // A later version of an ended run replaces what it said.
    const less = at(again, T0, over("c", 3, { version: 4 }));
    expect(answer(less, "d", ml)).toMatchObject({ kind: "none" });
    expect(ask).toHaveBeenCalledTimes(1);
  });

  test("a pool in which nobody has the quota never reads it", () => {
    const state = at(configured({ projects: { default: {}, ml: {} } }), T0, over("a", 9_999));
    const ask = vi.spyOn(state.runs, "sums");
    at(state, T0, run("c", ml));
    expect(ask).not.toHaveBeenCalled();
  });
});

describe("the pool shows what each project uses, beside its quotas (projects.md#quotas)", () => {
  const runs = () => [
    placed("x", "w1", { ...ml, ...vcpus(1) }),
    placed("y", "w1", { ...ml, ...vcpus(1) }),
    waiting("a", { ...ml, ...vcpus(4) }),
  ];
  const none = { queued: 0, placed: 0, machines: 0, costPerHour: 0, unpriced: 0, quota: {} };

  test("its runs, its machines and their cost", () => {
    const state = configured(limited({ maxRuns: 2, maxStoredBytes: "1KiB" }), runs(), [
      mine("w1"),
      workerRow("w2"),
    ]);
    const quota = { maxRuns: 2, maxStoredBytes: "1KiB" };
    const use = { queued: 1, placed: 2, machines: 1, costPerHour: 1, unpriced: 0, storedBytes: 0, quota };
    expect(poolView(state, T0).projects).toEqual({ default: none, ml: use });
  });

  test("with shareMachines, the cost of its runs", () => {
    const state = configured(limited({}, { shareMachines: true }), runs(), [workerRow("w1")]);
    const use = { ...none, queued: 1, placed: 2, costPerHour: 0.5 };
    expect(poolView(state, T0).projects).toEqual({ default: none, ml: use });
  });

  test("a pool without projects shows none", () => {
    expect(poolView(configured(), T0)).not.toHaveProperty("projects");
  });
});
