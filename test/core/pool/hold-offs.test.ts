import { describe, expect, test } from "vitest";
import type { WorkerFailure } from "../../../src/core/messages.ts";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import { explainRun, poolView } from "../../../src/core/pool/read/views.ts";
import type { Hold } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import {
  at,
  configured,
  createsOf,
  held,
  hold,
  MINUTE,
  owed,
  reloaded,
  run,
  T0,
  vcpus,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

const tick: PoolEvent = { type: "tick" };
const group = { quotaGroup: "standard" };
/** By what only they can hold: `a` and `b` share a quota, `spot` has its own, `lone` is in no group. */
const TYPES: PoolConfigInput["instanceTypes"] = {
  a: { vcpus: 1, memory: "1GiB", price: 1, ...group },
  b: { vcpus: 2, memory: "1GiB", price: 2, ...group },
  spot: { vcpus: 3, memory: "1GiB", price: 3, ...group, preemptible: true },
  lone: { vcpus: 4, memory: "1GiB", price: 4 },
};
/** One run for each type. */
const RUNS = [1, 2, 3, 4].map((count) => waiting(`r${count}`, vcpus(count)));

/** The pool of these types in which the first machine that was asked for, of type `a`, has failed. */
function afterFailure(failure: Partial<WorkerFailure>, now = T0): Configured {
  const asked = workerRow("w1", "booting", { instanceType: "a", type: typeOf("a"), idleBehavior: "drain" });
  const state = configured({ instanceTypes: TYPES, maxRunsPerInstance: 1, priceFactor: 1 }, RUNS, [asked]);
  return at(state, now, fails("w1", failure, now));
}

const typeOf = (name: string) => {
  const type = poolConfig({ instanceTypes: TYPES }).instanceTypes[name];
  if (type === undefined) throw new Error(`there is no type ${name}`);
  return type;
};

function fails(worker: string, failure: Partial<WorkerFailure>, now: number, version = 2): PoolEvent {
  const said: WorkerFailure = { class: "capacity", text: "none left", at: now, ...failure };
  const phase = said.class === "temporary" || said.class === "rate_limit" ? "booting" : "shutdown";
  const instance = said.class === "boot" ? `i-${worker}` : null;
  return workerSays(worker, {
    version,
    phase,
    instance,
    readyAt: null,
    bootOutcome: null,
    reason: said.text,
    failure: said,
  });
}

const wait = ({ until }: Hold, now: number) => (until ?? Number.POSITIVE_INFINITY) - now;
const only = (state: Configured): Hold => {
  const [one, ...others] = state.record.holds;
  if (one === undefined || others.length > 0) throw new Error(`${state.record.holds.length} hold-offs`);
  return one;
};
/** The types of which machines are asked for, at that time. */
const asksFor = (state: Configured, now: number) => {
  const fresh = at(state, now, tick);
  return [...fresh.workers.live()].filter((row) => row.phase === "asked").map((row) => row.instanceType);
};

// pool.md#capacity-1
describe("errors keep their scope: all, quota group (spot apart), one type (decisions/pool.md#d18)", () => {
  test.each<[string, Partial<WorkerFailure>, string, string[]]>([
    ["capacity, of one type", { class: "capacity", scope: "type" }, "type:a", ["b", "spot", "lone"]],
    ["capacity, of a quota group", { class: "capacity", scope: "group" }, "group:standard", ["spot", "lone"]],
    ["capacity, of all", { class: "capacity", scope: "all" }, "all", []],
    ["capacity, without a scope", { class: "capacity" }, "type:a", ["b", "spot", "lone"]],
    ["quota, without a scope", { class: "quota" }, "group:standard", ["spot", "lone"]],
    ["quota, of all", { class: "quota", scope: "all" }, "all", []],
    ["rate limit", { class: "rate_limit" }, "all", []],
    ["a passing trouble", { class: "temporary" }, "all", []],
    ["invalid", { class: "invalid" }, "type:a", ["b", "spot", "lone"]],
  ])("%s", (_what, failure, scope, others) => {
    const state = afterFailure(failure);
    expect(only(state)).toMatchObject({ cause: failure.class, scope, tries: 1, reason: "none left" });
    expect(
      [...state.workers.live()].flatMap((row) => (row.phase === "asked" ? [row.instanceType] : [])),
    ).toEqual(others);
  });

  // pool.md#capacity-2
  test("the quota group of spot machines is another one, and one that is named like a type, too", () => {
    const spot = workerRow("w1", "booting", { instanceType: "spot", type: typeOf("spot") });
    const state = at(
      configured({ instanceTypes: TYPES }, [], [spot]),
      T0,
      fails("w1", { class: "quota" }, T0),
    );
    expect(only(state).scope).toBe("group:standard:spot");
    const like = { ...typeOf("a"), quotaGroup: "lone" };
    const named = configured({ instanceTypes: TYPES }, [], [workerRow("w1", "booting", { type: like })]);
    expect(only(at(named, T0, fails("w1", { class: "quota" }, T0))).scope).toBe("group:lone");
  });

  test("without a quota group, a quota is that of all machines", () => {
    const lone = workerRow("w1", "booting", { instanceType: "lone", type: typeOf("lone") });
    const state = at(
      configured({ instanceTypes: TYPES }, [], [lone]),
      T0,
      fails("w1", { class: "quota" }, T0),
    );
    expect(only(state).scope).toBe("all");
  });
});

describe("for how long, after so many failures in a row", () => {
  // The pauses of this system's own making lie up to a quarter above, always the same for a pool and a try.
  test.each<[string, WorkerFailure["class"], number[], number]>([
    ["quota: 60 s, doubling to 15 min (pool.md#quota-1)", "quota", [60, 120, 240, 480, 900, 900], 900],
    ["capacity: 60 s each time (pool.md#capacity-3)", "capacity", [60, 60, 60], 60],
    ["temporary: 5 s, doubling to 60 s", "temporary", [5, 10, 20, 40, 60, 60], 60],
    [
      "rate limit without a word on when: the same (pool.md#rate-limits)",
      "rate_limit",
      [5, 10, 20, 40, 60],
      60,
    ],
    [
      "boot: nothing, nothing, then 5 min, doubling to 60 min (decisions/pool.md#d24)",
      "boot",
      [0, 0, 300, 600, 1_200, 2_400, 3_600, 3_600],
      3_600,
    ],
  ])("%s", (_what, cause, seconds, longest) => {
    let now = T0;
    let state = configured({}, [], []);
    for (const [n, expected] of seconds.entries()) {
      state.workers.set(`w${n}`, workerRow(`w${n}`, "booting"), now);
      state = at(state, now, fails(`w${n}`, { class: cause }, now));
      const one = only(state);
      expect(one.tries).toBe(n + 1);
      expect(wait(one, now) / 1_000).toBeGreaterThanOrEqual(expected);
      expect(wait(one, now) / 1_000).toBeLessThanOrEqual(Math.min(longest, expected * 1.25));
      now = one.until ?? now;
    }
  });

  // pool.md#rate-1, pool.md#create-2
  test("until the earliest retry that the provider names, whatever the class", () => {
    for (const cause of ["rate_limit", "quota", "capacity", "temporary"] as const) {
      const state = afterFailure({ class: cause, retryAfterMs: 7_000 });
      expect(only(state).until).toBe(T0 + 7_000);
    }
  });

  test("invalid: until the configuration changes", () => {
    const state = afterFailure({ class: "invalid", scope: "all", text: "no such image" });
    expect(only(state).until).toBeNull();
    expect(asksFor(state, T0 + 1_000 * MINUTE)).toEqual([]);
    expect(poolMachine.wakeAt(state)).not.toBeNaN();
  });

  test("two pools do not come back in step", () => {
    const untils = ["s", "t", "u"].map((seed) => {
      const state = configured({}, [], [workerRow("w1", "booting")]);
      const other = { ...state, record: { ...state.record, seed } };
      return only(at(other, T0, fails("w1", { class: "quota" }, T0))).until;
    });
    expect(new Set(untils).size).toBe(3);
  });
});

describe("failures while it lasts are of machines that were under way: no further try", () => {
  const two = () =>
    configured({}, [], [workerRow("w1", "booting"), workerRow("w2", "booting"), workerRow("w3", "booting")]);

  test.each<[WorkerFailure["class"], boolean]>([
    ["capacity", true],
    ["quota", false],
    ["temporary", false],
  ])("%s: its pause begins anew: %s (pool.md#quota, pool.md#capacity)", (cause, anew) => {
    const first = at(two(), T0, fails("w1", { class: cause }, T0));
    const second = at(first, T0 + 1_000, fails("w2", { class: cause }, T0 + 1_000));
    expect(only(second).tries).toBe(1);
    expect((only(second).until ?? 0) - (only(first).until ?? 0)).toBe(anew ? 1_000 : 0);
  });

  // pool.md#rate-3
  test("a rate limit is never shortened by a later word (cases.md#case-20)", () => {
    const said = (retryAfterMs: number) => ({ class: "rate_limit" as const, retryAfterMs });
    const first = at(two(), T0, fails("w1", said(60_000), T0), fails("w2", said(1_000), T0));
    expect(only(first)).toMatchObject({ tries: 1, until: T0 + 60_000 });
    expect(only(at(first, T0 + 1, fails("w3", said(90_000), T0 + 1))).until).toBe(T0 + 90_001);
  });

  test("the same failure, said again, is none", () => {
    const first = at(two(), T0, fails("w1", {}, T0));
    const again = at(first, T0 + 5 * MINUTE, fails("w1", { at: T0 }, T0 + 5 * MINUTE, 3));
    expect(only(again)).toEqual(only(first));
  });

  test("what fails while it lasts does not change it", () => {
    const first = at(two(), T0, fails("w1", { class: "quota" }, T0));
    const { holds } = first.record;
    expect(at(first, T0 + 1, fails("w2", { class: "quota" }, T0 + 1)).record.holds).toBe(holds);
  });
});

// pool.md#quota-2
// decisions/pool.md#d7
describe("when its time is over it is half open: one machine is tried, and decides", () => {
  const over = { cause: "quota", scope: "all", tries: 2, reason: "8 of 8" } as const;
  const runs = ["x", "y"].map((id) => waiting(id, vcpus(4)));
  const halfOpen = () => at(held(configured({}, runs), hold(T0, over)), T0, tick);

  test("one is asked for, although two are wanted", () => {
    expect(asksFor(held(configured({}, runs), hold(T0 + 1, over)), T0)).toEqual([]);
    expect(asksFor(halfOpen(), T0)).toEqual(["small"]);
    expect(createsOf(plan(halfOpen(), T0 + MINUTE))).toEqual([]);
  });

  test("`minInstances` are asked for one by one, too", () => {
    const state = held(configured({ minInstances: 3 }), hold(T0, over));
    expect(createsOf(plan(state, T0))).toEqual(["small"]);
  });

  test("its success ends the hold-off, and the others are asked for", () => {
    const made = workerSays("default-s-1", { phase: "booting", bootOutcome: null, readyAt: null });
    const state = at(halfOpen(), T0 + 1, made);
    expect(state.record.holds).toEqual([]);
    expect(asksFor(state, T0 + 1)).toEqual(["small"]);
  });

  test("its failure begins the next pause, twice as long", () => {
    const state = at(halfOpen(), T0 + 1, fails("default-s-1", { class: "quota" }, T0 + 1));
    expect(only(state)).toMatchObject({ tries: 3 });
    expect(wait(only(state), T0)).toBeGreaterThan(4 * MINUTE);
  });

  test("another kind of failure leaves it half open, and the next one is tried", () => {
    const state = at(
      halfOpen(),
      T0 + 1,
      fails("default-s-1", { class: "capacity", retryAfterMs: 1 }, T0 + 1),
    );
    expect(state.record.holds.map(({ cause }) => cause)).toEqual(["quota", "capacity"]);
    expect(asksFor(state, T0 + 2)).toEqual(["small"]);
  });

  test("a machine that was made while it lasts proves nothing: it was asked for before", () => {
    const state = held(configured({}, runs, [workerRow("w1", "booting")]), hold(T0 + MINUTE, over));
    const made = workerSays("w1", { phase: "booting", bootOutcome: null, readyAt: null });
    expect(only(at(state, T0, made)).tries).toBe(2);
  });

  test("the pool wakes at its end, while somebody waits, and no more after that", () => {
    const state = at(held(configured({}, runs), hold(T0 + MINUTE, over)), T0, tick);
    expect(poolMachine.wakeAt(state)).toBe(T0 + MINUTE);
    expect(poolMachine.wakeAt(at(state, T0 + MINUTE, tick))).not.toBe(T0 + MINUTE);
    const fewer = at(held(configured({ minInstances: 1 }), hold(T0 + MINUTE, over)), T0, tick);
    expect(poolMachine.wakeAt(fewer)).toBe(T0 + MINUTE);
    const idle = at(held(configured(), hold(T0 + MINUTE, over)), T0, tick);
    expect(poolMachine.wakeAt(idle)).toBeUndefined();
  });
});

// decisions/pool.md#d7
describe("a quota ends early when one of ours has left (pool.md#quota-4, pool.md#sweep-step-3)", () => {
  const leaves = (worker: string) => workerSays(worker, { phase: "gone", bootOutcome: "success" });
  const full = (more: Partial<Hold> = {}) =>
    held(
      configured(
        {},
        [waiting("x", vcpus(4))],
        [workerRow("w1"), workerRow("w2", "shutdown", { instance: null })],
      ),
      hold(T0 + 5 * MINUTE, { cause: "quota", tries: 4, ...more }),
    );

  test("one may be tried at once, and its failure is the next in the row", () => {
    const state = at(full(), T0, leaves("w1"));
    expect(only(state)).toMatchObject({ tries: 4, until: T0 });
    expect(asksFor(state, T0)).toEqual(["small"]);
  });

  test.each<[string, Configured, string]>([
    ["one that never was a machine leaves nothing behind", full(), "w2"],
    ["a machine of another group leaves nothing there", full({ scope: "group:standard" }), "w1"],
    ["another cause is none of it", full({ cause: "capacity" }), "w1"],
  ])("%s", (_what, state, worker) => {
    const gone = workerSays(worker, { phase: "gone", instance: worker === "w2" ? null : "i-w1" });
    expect(only(at(state, T0, gone)).until).toBe(T0 + 5 * MINUTE);
  });
});

// decisions/pool.md#d24
describe("the breaker stops a type after 3 boot failures in a row (cases.md#case-17)", () => {
  const boots = (count: number) => {
    let state = configured({ instanceTypes: TYPES });
    for (let n = 1; n <= count; n += 1) {
      const row = workerRow(`w${n}`, "booting", {
        instanceType: "a",
        type: typeOf("a"),
        instance: `i-w${n}`,
      });
      state.workers.set(`w${n}`, row, T0);
      state = at(
        state,
        T0,
        fails(`w${n}`, { class: "boot", text: "it did not become ready", at: T0 + n }, T0),
      );
    }
    return state;
  };
  const asks = (state: Configured, now = T0) => asksFor(at(state, now, run("x", vcpus(1))), now);

  test.each([
    [1, ["a"]],
    [2, ["a"]],
    [3, []],
  ])("after %d", (count, types) => {
    expect(asks(boots(count))).toEqual(types);
    expect(poolView(boots(count), T0).holdOffs).toHaveLength(types.length === 0 ? 1 : 0);
  });

  test("other types go on", () => {
    expect(asksFor(at(boots(3), T0, run("x", vcpus(2))), T0)).toEqual(["b"]);
  });

  test("a success in between begins the row anew", () => {
    const state = boots(2);
    state.workers.set("w9", workerRow("w9", "booting", { instanceType: "a", type: typeOf("a") }), T0);
    expect(at(state, T0, workerSays("w9")).record.holds).toEqual([]);
  });

  test("half open: a trial that is held while it boots is none any more (invariant 5)", () => {
    const end = T0 + 5 * MINUTE;
    let state = at(boots(3), end, run("x", vcpus(1)), run("y", vcpus(1)));
    const trial = [...state.workers.live()].find((row) => row.phase === "asked")?.worker ?? "";
    const booting = { phase: "booting", readyAt: null, bootOutcome: null } as const;
    state = at(state, end, workerSays(trial, booting));
    expect(asksFor(state, end)).toEqual([]);
    state = at(state, end, workerSays(trial, { ...booting, version: 3, idleBehavior: "hold" }));
    expect(state.workers.get(trial)?.idleBehavior).toBe("hold");
    expect([...state.workers.live()].filter((row) => row.phase === "asked")).toHaveLength(1);
  });

  test("half open: one is tried until it is ready, not merely made", () => {
    const end = T0 + 5 * MINUTE;
    let state = at(boots(3), end, run("x", vcpus(1)), run("y", vcpus(1)));
    const trial = [...state.workers.live()].find((row) => row.phase === "asked")?.worker ?? "";
    state = at(state, end, workerSays(trial, { phase: "booting", readyAt: null, bootOutcome: null }));
    expect(only(state)).toMatchObject({ cause: "boot", tries: 3 });
    expect(asksFor(state, end)).toEqual([]);
    state = at(state, end, workerSays(trial, { version: 3 }));
    expect(state.record.holds).toEqual([]);
  });

  test("the end of a machine that was ready, or that somebody ended, is no boot failure", () => {
    const state = configured({}, [], [workerRow("w1")]);
    expect(at(state, T0, workerSays("w1", { phase: "gone" })).record.holds).toEqual([]);
  });
});

describe("another configuration", () => {
  const holds: Hold[] = [
    hold(null, { cause: "invalid", scope: "type:small" }),
    hold(T0 + MINUTE, { cause: "boot", scope: "type:small", tries: 3 }),
    hold(T0 + MINUTE, { cause: "rate_limit" }),
    hold(T0 + MINUTE, { cause: "rate_limit", scope: "type:gone" }),
    hold(T0 + MINUTE, { cause: "quota" }),
    hold(T0 + MINUTE, { cause: "capacity", scope: "type:small" }),
    hold(T0 + MINUTE, { cause: "temporary" }),
  ];
  const small = { vcpus: 4, memory: "1GiB", price: 1 };

  test.each<[string, Partial<PoolConfigInput>, Hold["cause"][]]>([
    ["the same, put again", {}, ["boot", "rate_limit", "quota", "capacity", "temporary"]],
    ["another maximum", { maxInstances: 3 }, ["boot", "rate_limit"]],
    ["another image", { image: "new" }, ["rate_limit"]],
    ["another description of the type", { instanceTypes: { small: { ...small, disk: 5 } } }, ["rate_limit"]],
    ["without the type", { instanceTypes: { other: small } }, ["rate_limit"]],
    ["another secret", { provider: { kind: "http", url: "http://cloud.test", secret: "t" } }, ["boot"]],
  ])("%s: what is left", (_what, more, left) => {
    const configure = { pool: "default", revision: 2, config: poolConfig(more), seed: "s" };
    const state = at(held(configured(), ...holds), T0, { type: "configure", body: configure });
    expect(state.record.holds.map(({ cause }) => cause)).toEqual(left);
  });
});

describe("what is stored", () => {
  test("a restart forgets no hold-off", () => {
    const state = reloaded(afterFailure({ class: "capacity", scope: "all" }));
    expect(asksFor(state, T0 + MINUTE - 1)).toEqual([]);
  });
});

describe("a run that waits for it is told the scope, the reason and the time (invariant 5)", () => {
  test.each<[string, Hold, string | null, RegExp]>([
    [
      "while it lasts",
      hold(T0 + MINUTE, { scope: "type:small" }),
      new Date(T0 + MINUTE).toISOString(),
      /type:small.*no/,
    ],
    ["for ever", hold(null, { cause: "invalid", reason: "no such image" }), null, /all.*no such image/],
  ])("%s", (_what, one, next, text) => {
    const why = explainRun(held(configured({}, [waiting("x")]), one), "x", T0);
    expect(why).toMatchObject({ reason: { code: "hold_off" }, next: { at: next } });
    expect(why?.reason.text).toMatch(text);
  });

  test("that another machine is being tried", () => {
    const runs = [waiting("x", vcpus(4)), waiting("y", vcpus(4))];
    const why = explainRun(at(held(configured({}, runs), hold(T0)), T0, tick), "y", T0);
    expect(why?.reason).toMatchObject({ code: "hold_off", text: expect.stringContaining("being tried") });
  });

  test("it keeps no run from a machine that is there", () => {
    const state = held(configured({}, [waiting("x")], [workerRow("w1")]), hold(T0 + MINUTE));
    expect(plan(state, T0).places).toHaveLength(1);
  });
});

describe("a listing has a bucket of its own (pool.md#rate-2, cases.md#case-20)", () => {
  const limited: PoolEvent = {
    type: "listed",
    consistencyMs: 0,
    answer: { kind: "failed", failure: { class: "rate_limit", text: "slow down", retryAfterMs: 5 * MINUTE } },
  };
  const one = () => at(configured({}, [], [workerRow("w1")]), T0, limited);

  test("it is not asked before the earliest retry, over a restart too", () => {
    for (const state of [one(), reloaded(one())]) {
      expect(owed(state, T0 + 5 * MINUTE - 1, "list")).toEqual([]);
      expect(owed(state, T0 + 5 * MINUTE, "list")).toHaveLength(1);
    }
    expect(poolMachine.wakeAt(one())).toBe(T0 + 5 * MINUTE);
  });

  test("machines are created all the same, and the pool shows it", () => {
    expect(asksFor(at(one(), T0, run("x", vcpus(4)), run("y", vcpus(4))), T0)).toEqual(["small"]);
    expect(poolView(one(), T0).holdOffs).toMatchObject([{ scope: "list", reason: "slow down" }]);
  });

  test("a listing that is answered ends it", () => {
    const answer = { kind: "listed", beganAt: T0, items: [] } as const;
    const later = T0 + 5 * MINUTE;
    expect(
      at(one(), later, { type: "listed", consistencyMs: 0, answer: { ...answer, items: [] } }).record.holds,
    ).toEqual([]);
  });
});
