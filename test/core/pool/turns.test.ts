import { describe, expect, test } from "vitest";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import type { Hold } from "../../../src/core/pool/record.ts";
import { type Configured, isRemoved } from "../../../src/core/pool/state.ts";
import type { PoolConfig } from "../../../src/schema/pool.ts";
import { CREATE_NOT_AFTER_MS } from "../../../src/shared/limits.ts";
import {
  at,
  configured,
  held,
  hold,
  owed,
  reloaded,
  T0,
  vcpus,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

const tick: PoolEvent = { type: "tick" };
const RUNS = Array.from({ length: 7 }, (_, n) => waiting(`r${n}`, vcpus(4)));
const told = (state: Configured, now: number) => owed(state, now, "create").map(({ to }) => to);
const turns = (state: Configured, now: number) => owed(state, now, "turn").map(({ to }) => to);
/** Lets time pass in steps of so many milliseconds; how many calls were let through in each. */
function counted(before: Configured, times: number[], count: (state: Configured, now: number) => string[]) {
  let state = before;
  return times.map((ms) => {
    state = at(state, T0 + ms, tick);
    return count(state, T0 + ms).length;
  });
}
const pause = (cause: Hold["cause"], scope: string, ms = 9_000) => hold(T0 + ms, { cause, scope });
/** A pool whose listings are not in the way: the latest was a while ago, and the next is not due. */
function swept(state: Configured): Configured {
  state.memo.sweptAt = T0 - 30_000;
  return state;
}
/** Workers whose creates have failed. */
const refused = (...ids: string[]) => ids.map((id) => workerRow(id, "booting", { waits: "create" }));

// clouds.md#looking-for-a-machine
describe("looks for machines take turns, no more in any second than the kind of provider takes", () => {
  const provider: PoolConfig["provider"] = { kind: "fly", credentials: { binding: "CLOUD_FLY" }, app: "ci" };
  const onFly = {
    provider,
    image: "node:24",
    instanceTypes: { small: { vcpus: 4, memory: "8GiB", price: 1, providerType: "performance-4x" } },
  };
  const looking = ["f1", "f2", "f3"].map((id) => workerRow(id, "shutdown", { waits: "find" }));

  test("one a second on Fly, where a listing counts as a look", () => {
    const pool = swept(configured(onFly, [], looking));
    expect(counted(pool, [0, 999, 1_000, 2_000], turns)).toEqual([1, 1, 2, 3]);
    const listed = () => {
      const state = configured(onFly, [], looking);
      state.memo.sweptAt = T0;
      return state;
    };
    expect(counted(listed(), [1, 999, 1_000], turns)).toEqual([0, 0, 1]);
    expect(poolMachine.wakeAt(at(listed(), T0 + 1, tick))).toBe(T0 + 1_000);
  });

  test("after destroys and before creates", () => {
    const ending = workerRow("d1", "shutdown", { waits: "destroy" });
    const rows = [...refused("w1"), ...looking.slice(0, 1), ending];
    const pool = configured({ maxCloudOpsPerSecond: 1 }, RUNS.slice(0, 1), rows);
    pool.memo.sweptAt = T0;
    const order = [1_000, 2_000, 3_000].reduce<{ state: Configured; seen: string[] }>(
      ({ state, seen }, ms) => {
        const next = at(state, T0 + ms, tick);
        const fresh = turns(next, T0 + ms).filter((id) => !seen.includes(id));
        return { state: next, seen: [...seen, ...fresh] };
      },
      { state: pool, seen: [] },
    ).seen;
    expect(order).toEqual(["d1", "f1", "w1"]);
  });

  test.each<[Hold["cause"], string, number]>([
    ["rate_limit", "all", 0],
    ["temporary", "all", 0],
    ["quota", "all", 1],
    ["capacity", "type:small", 1],
  ])("%s of %s: %d looks go on", (cause, scope, count) => {
    const pool = swept(held(configured(onFly, [], looking), pause(cause, scope)));
    expect(turns(at(pool, T0, tick), T0)).toHaveLength(count);
  });
});

// decisions/pool.md#d8
describe("A4: no more calls in any second than `maxCloudOpsPerSecond` (pool.md#turns)", () => {
  const pool = () => configured({ maxCloudOpsPerSecond: 3 }, RUNS);

  test("all are permitted at once, and told in their turn", () => {
    expect(counted(pool(), [0, 999, 1_000, 1_999, 2_000], told)).toEqual([3, 3, 6, 6, 7]);
    expect(counted(reloaded(at(pool(), T0, tick)), [0, 1_000, 2_000], told)).toEqual([3, 6, 7]);
  });

  test("the pool wakes for each turn", () => {
    let state = pool();
    const wakes = [0, 1_000, 2_000].map((ms) => {
      state = at(state, T0 + ms, tick);
      return poolMachine.wakeAt(state);
    });
    expect(wakes).toEqual([T0 + 1_000, T0 + 2_000, undefined]);
  });

  test("the wait for its turn does not use up the time that a permit has", () => {
    const state = at(at(at(pool(), T0, tick), T0 + 1_000, tick), T0 + 2_000, tick);
    expect([...state.workers.live()].at(-1)?.notAfter).toBe(T0 + 2_000 + CREATE_NOT_AFTER_MS);
  });

  test("a configuration of an earlier version has no limit", () => {
    const { maxCloudOpsPerSecond: _none, ...config } = pool().record.config;
    const earlier = { ...pool(), record: { ...pool().record, config: config as PoolConfig } };
    expect(told(at(earlier, T0, tick), T0)).toHaveLength(7);
  });

  test("repeats of creates count as creates do", () => {
    const rows = refused("w1", "w2", "w3", "w4", "w5");
    const state = swept(configured({ maxCloudOpsPerSecond: 2 }, RUNS.slice(0, 5), rows));
    expect(counted(state, [0, 500, 1_000, 2_000], turns)).toEqual([2, 2, 4, 5]);
  });

  // pool.md#rate-4
  test("destroys count as well, and go first", () => {
    const ending = ["d1", "d2"].map((id) => workerRow(id, "shutdown", { waits: "destroy" }));
    const now = T0 + 5_000;
    const state = { ...configured({ maxCloudOpsPerSecond: 2 }, RUNS.slice(0, 2), ending) };
    state.memo.sweptAt = T0;
    const first = at(state, now, tick);
    expect([turns(first, now), told(first, now)]).toEqual([["d1", "d2"], []]);
    expect(told(at(first, now + 1_000, tick), now + 1_000)).toHaveLength(2);
  });

  test("a listing waits for the calls of the last second, and comes before the next", () => {
    const state = configured({ maxCloudOpsPerSecond: 1 }, RUNS.slice(0, 2), refused("w1", "w2"));
    state.memo.sweptAt = T0;
    const first = at(state, T0 + 59_500, tick);
    expect(turns(first, T0 + 59_500)).toEqual(["w1"]);
    const due = at(first, T0 + 60_000, tick);
    expect([owed(due, T0 + 60_000, "list"), poolMachine.wakeAt(due)]).toEqual([[], T0 + 60_500]);
    const then = at(due, T0 + 60_500, tick);
    expect([owed(then, T0 + 60_500, "list"), turns(then, T0 + 60_500)]).toMatchObject([[{}], ["w1"]]);
    const failure = { class: "temporary", text: "" } as const;
    const listed = at(then, T0 + 60_600, {
      type: "listed",
      consistencyMs: 0,
      answer: { kind: "failed", failure },
    });
    expect(poolMachine.wakeAt(listed)).toBe(T0 + 61_600);
    expect(turns(at(listed, T0 + 61_600, tick), T0 + 61_600)).toEqual(["w1", "w2"]);
  });
});

describe("A4: nobody was told of a machine that has had no turn, so its permit can be withdrawn", () => {
  const untold = (...ids: string[]) => ids.map((id) => workerRow(id, "asked"));
  const told1 = workerRow("told", "booting");
  const live = (state: Configured) => [...state.workers.live()].map(({ worker }) => worker);
  const configure = (more: object) => {
    const put = { pool: "default", revision: 2, seed: "s", config: poolConfig(), ...more };
    return { type: "configure" as const, body: put };
  };

  test("ten are asked for while a listing was just made, and the first is called invalid: none waits", () => {
    const runs = Array.from({ length: 10 }, (_, n) => waiting(`r${n}`, vcpus(4)));
    const pool = configured({ maxInstances: 20 }, runs);
    pool.memo.sweptAt = T0;
    const asked = at(pool, T0, tick);
    expect([live(asked).length, told(asked, T0).length]).toEqual([10, 9]);
    const [first = ""] = told(asked, T0);
    const failure = { class: "invalid" as const, text: "no such image", at: T0 };
    const says = { phase: "shutdown" as const, instance: null, readyAt: null, bootOutcome: null };
    const refused = at(asked, T0 + 1, workerSays(first, { ...says, failure }));
    expect(live(refused)).toHaveLength(9);
    expect(explainRun(refused, "r9", T0 + 1)?.reason.code).toBe("hold_off");
    expect(told(at(refused, T0 + 2_000, tick), T0 + 2_000)).toHaveLength(8);
  });

  test.each<[string, Hold | undefined, PoolEvent, string[]]>([
    ["a hold-off without an end", hold(null, { cause: "invalid", scope: "type:small" }), tick, []],
    ["a hold-off with an end", pause("capacity", "type:small"), tick, []],
    ["a hold-off of everything", pause("temporary", "all"), tick, []],
    ["a hold-off of another type", pause("capacity", "type:other"), tick, ["w1", "w2"]],
    ["a hold-off whose time is over", pause("capacity", "type:small", 0), tick, ["w1", "w2"]],
    ["a pool that is being deleted", undefined, configure({ remove: "drained" }), []],
    [
      "a type that is configured no more",
      undefined,
      configure({ config: poolConfig({ instanceTypes: { other: { vcpus: 1, memory: "1GiB" } } }) }),
      [],
    ],
  ])("%s", (_what, one, event, left) => {
    const rows = [told1, ...untold("w1", "w2")];
    const runs = event.type === "configure" ? [] : RUNS.slice(0, 3);
    const state = at(swept(held(configured({}, runs, rows), ...(one === undefined ? [] : [one]))), T0, event);
    expect(live(state)).toEqual(["told", ...left]);
    expect(live(reloaded(state))).toEqual(["told", ...left]);
    for (const worker of ["w1", "w2"].filter((id) => !left.includes(id)))
      expect(state.workers.get(worker)).toMatchObject({ phase: "gone", reason: expect.any(String) });
  });

  test("the run that counted on it counts on another type at once", () => {
    const small = { vcpus: 4, memory: "1GiB", price: 1 };
    const pool = configured(
      { instanceTypes: { small, dearer: { ...small, price: 1.2 } }, priceFactor: 2 },
      [waiting("a", vcpus(4))],
      untold("w1"),
    );
    const invalid = hold(null, { cause: "invalid", scope: "type:small" });
    const state = at(swept(held(pool, invalid)), T0, tick);
    expect([...state.workers.live()].map((row) => row.instanceType)).toEqual(["dearer"]);
  });

  test("the deletion of a pool ends without a machine that nobody was told of", () => {
    const pool = configured({ maxCloudOpsPerSecond: 1 }, [], untold("w1"));
    pool.memo.sweptAt = T0 - 1;
    const before = at(pool, T0 - 1, tick);
    expect(told(before, T0)).toEqual([]);
    expect(isRemoved(at(before, T0, configure({ remove: "drained" })))).toBe(true);
  });

  test("a pool that is being deleted still asks for the machines that its runs need", () => {
    const pool = configured({}, [waiting("a", vcpus(4))], untold("w1"));
    const state = at(swept(pool), T0, configure({ remove: "drained" }));
    expect(told(state, T0)).toEqual(["w1"]);
  });
});

describe("A4, P18: while a hold-off lasts nobody is told to call, and then one is tried", () => {
  test.each<[Hold["cause"], string, number]>([
    ["rate_limit", "all", 0],
    ["temporary", "all", 0],
    ["quota", "all", 0],
    ["capacity", "type:small", 0],
    ["rate_limit", "list", 2],
    ["capacity", "type:other", 2],
  ])("%s of %s: meanwhile %d are told", (cause, scope, count) => {
    for (const [runs, rows, calls] of [
      [RUNS.slice(0, 2), [], told],
      [RUNS.slice(0, 2), refused("w1", "w2"), turns],
    ] as const) {
      const pool = configured({}, [...runs], [...rows]);
      const state = at(swept(held(pool, pause(cause, scope))), T0, tick);
      expect(calls(state, T0)).toHaveLength(count);
      expect(poolMachine.wakeAt(state) ?? 0).toBeGreaterThanOrEqual(count === 0 ? T0 + 1 : 0);
      const then = at(state, T0 + 9_000, tick);
      expect(calls(then, T0 + 9_000)).toHaveLength(count === 0 ? 1 : 2);
    }
  });

  test("of six that were refused one is tried; the others follow when it has been made", () => {
    const ids = ["w1", "w2", "w3", "w4", "w5", "w6"];
    const state = held(configured({}, RUNS.slice(0, 6), refused(...ids)), pause("rate_limit", "all", 5_000));
    const then = at(at(state, T0 + 4_999, tick), T0 + 5_000, tick);
    expect(turns(then, T0 + 5_000)).toEqual(["w1"]);
    const made = at(
      then,
      T0 + 6_000,
      workerSays("w1", { phase: "booting", readyAt: null, bootOutcome: null }),
    );
    expect(turns(made, T0 + 6_000)).toEqual(["w2", "w3", "w4", "w5", "w6"]);
  });

  test("refused again and again: one create after 5, 10, 20, 40 and 60 s, up to a quarter more", () => {
    let now = T0;
    let state = at(configured({}, RUNS.slice(0, 2), refused("w1", "w2")), now, tick);
    const gaps: number[] = [];
    for (let tries = 1; tries <= 7; tries += 1) {
      const [to = "w1"] = turns(state, now);
      const failure = { class: "temporary" as const, text: "403", at: now };
      const says = { phase: "booting" as const, instance: null, readyAt: null, bootOutcome: null };
      const version = 10 * tries;
      state = at(state, now, workerSays(to, { ...says, version, failure, waits: "create" }));
      if (tries === 1)
        state = at(state, now, workerSays("w2", { ...says, version, failure, waits: "create" }));
      expect(turns(state, now)).toEqual([]);
      state.memo.sweptAt = now;
      const from = now;
      now = poolMachine.wakeAt(state) ?? 0;
      state = at(state, now, tick);
      expect(turns(state, now)).toHaveLength(1);
      gaps.push((now - from) / 1_000);
    }
    for (const [nth, least] of [5, 10, 20, 40, 60, 60, 60].entries()) {
      expect(gaps[nth]).toBeGreaterThanOrEqual(least);
      expect(gaps[nth]).toBeLessThanOrEqual(Math.min(60, least * 1.25));
    }
  });

  test("no other machine is asked for while one that was refused is the next to be tried", () => {
    const big = waiting("big", vcpus(4));
    const more = waiting("more", vcpus(4));
    const state = at(
      held(configured({}, [big, more], refused("w1")), pause("temporary", "all", 0)),
      T0,
      tick,
    );
    expect([turns(state, T0), told(state, T0)]).toEqual([["w1"], []]);
  });

  test.each<[Hold["cause"], string, number]>([
    ["rate_limit", "all", 0],
    ["temporary", "all", 0],
    ["quota", "all", 1],
    ["rate_limit", "type:small", 1],
  ])("%s of %s: %d destroys go on", (cause, scope, count) => {
    const ending = workerRow("d", "shutdown", { waits: "destroy" });
    const state = at(held(configured({}, [], [ending]), pause(cause, scope)), T0, tick);
    expect(turns(state, T0)).toHaveLength(count);
    expect(turns(at(state, T0 + 9_000, tick), T0 + 9_000)).toEqual(["d"]);
  });

  test("a run that counts on a machine that is held off says so, and until when", () => {
    const failure = { class: "temporary" as const, text: "403", at: T0 };
    const row = workerRow("w1", "booting", { waits: "create", failure, reason: "403" });
    const why = explainRun(held(configured({}, [waiting("a")], [row]), pause("temporary", "all")), "a", T0);
    expect(why?.reason).toMatchObject({ code: "create_deferred", text: expect.stringContaining("403") });
    expect(why?.next.at).toBe(new Date(T0 + 9_000).toISOString());
    expect(why?.chain).toMatchObject([{ what: "worker w1" }]);
  });

  test("a turn that was taken is not given again; one that was not is said again", () => {
    const state = at(configured({}, RUNS.slice(0, 1), refused("w1")), T0, tick);
    expect(turns(reloaded(state), T0 + 1)).toEqual(["w1"]);
    const says = { phase: "booting" as const, instance: null, readyAt: null, bootOutcome: null };
    expect(turns(at(state, T0 + 1, workerSays("w1", says)), T0 + 1)).toEqual([]);
  });
});
