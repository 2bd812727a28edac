import { describe, expect, test } from "vitest";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import { isOpen, type RunRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import { InstanceType } from "../../../src/schema/pool.ts";
import {
  at,
  configured,
  createsOf,
  held,
  hold,
  MINUTE,
  owed,
  placed,
  placesOf,
  reloaded,
  run,
  T0,
  upsert,
  vcpus,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";

const tick = { type: "tick" } as const;
const small = InstanceType.parse({ vcpus: 4, memory: "1GiB", price: 1 });
const large = InstanceType.parse({ vcpus: 8, memory: "1GiB", price: 2 });
const config = { maxInstances: 10, instanceTypes: { small, large } };
const needy = waiting("needy", { priority: 99, ...vcpus(8) });
const quota = (until: number, scope = "all") => hold(until, { cause: "quota", scope, reason: "quota: 2" });
const asked = (state: Configured, now = T0) => owed(state, now, "make_room").map(({ to }) => to);

describe("A1: at a quota of the provider that our own machines fill, the first run stays first", () => {
  const workers = [workerRow("w1"), workerRow("w2")];
  const busy = [placed("a", "w1"), placed("b", "w1"), placed("c", "w2")];
  const later = waiting("later", { priority: 10, ...vcpus(4) });
  const state = (runs: RunRow[] = [needy, later], ...holds: ReturnType<typeof hold>[]) =>
    held(
      configured(config, [...busy, ...runs], workers),
      ...(holds.length > 0 ? holds : [quota(T0 + MINUTE)]),
    );

  test("the machine with the fewest runs leaves for it, and no later run gets a reservation", () => {
    expect(plan(state(), T0).reserved).toEqual({ run: "needy", worker: "w2", evict: true });
    expect(placesOf(state([needy, waiting("x", { priority: 1, ...vcpus(3) })]))).toEqual([]);
  });

  test("while one of our machines leaves already, no later run is first either", () => {
    const leaving = workerRow("w3", "shutdown");
    const both = held(configured(config, [...busy, needy, later], [...workers, leaving]), quota(T0 + MINUTE));
    expect(plan(both, T0).reserved).toEqual({ run: "needy", worker: null });
    expect(explainRun(both, "needy", T0)?.reason.text).toContain(
      "a machine that is ending makes room for this run",
    );
  });

  test("A1: a machine that does not leave for five minutes is not waited for: another one leaves", () => {
    const rows = [...workers, workerRow("w3")];
    let both = held(configured(config, [...busy, needy], rows), quota(T0 + 60 * MINUTE));
    const says = (version: number, minutes: number, waits?: "destroy") => {
      both = at(both, T0 + minutes * MINUTE, workerSays("w3", { version, phase: "shutdown", waits }));
      return plan(both, T0 + minutes * MINUTE).reserved;
    };
    expect(says(2, 0)).toEqual({ run: "needy", worker: null });
    // It is heard of with each call that is made for its end.
    expect(says(3, 2, "destroy")).toEqual({ run: "needy", worker: null });
    expect(says(4, 4)).toEqual({ run: "needy", worker: null });
    expect(says(5, 5, "destroy")).toEqual({ run: "needy", worker: "w2", evict: true });
    const earlier = workerRow("w3", "shutdown", { endingAt: T0 - 5 * MINUTE });
    const stuck = held(configured(config, [...busy, needy], [...workers, earlier]), quota(T0 + MINUTE));
    expect(plan(stuck, T0).reserved).toEqual({ run: "needy", worker: "w2", evict: true });
  });

  test("while its own machine is tried in spite of the quota, the other one is kept from later runs", () => {
    const trial = workerRow("w3", "booting", { instanceType: "large", type: large, askedAt: T0 });
    const lesser = waiting("x", { priority: 1 });
    const both = held(
      configured(config, [placed("c", "w2"), needy, lesser], [workerRow("w2"), trial]),
      quota(T0),
    );
    expect(plan(both, T0).reserved).toEqual({ run: "needy", worker: "w2" });
    expect(placesOf(both)).toEqual([]);
    expect(asked(at(both, T0, tick))).toEqual([]);
  });

  test.each<[string, ReturnType<typeof hold>]>([
    ["of another quota group", quota(T0 + MINUTE, "group:other")],
    [
      "for want of capacity: no machine of ours is in the way",
      hold(T0 + MINUTE, { cause: "capacity", scope: "type:large" }),
    ],
  ])("a hold-off %s ends no machine", (_what, one) => {
    const types = { small, large: { ...large, quotaGroup: "other" } };
    const other = configured({ ...config, instanceTypes: types }, [...busy, needy], workers);
    expect(plan(held(other, one), T0).reserved).toBeNull();
  });

  test("only a machine in the scope of the quota leaves", () => {
    const types = { small: { ...small, quotaGroup: "g" }, large: { ...large, quotaGroup: "g" }, tiny: small };
    const rows = [
      workerRow("w1", "ready", { instanceType: "tiny", type: types.tiny }),
      workerRow("w2", "ready", { type: types.small }),
    ];
    const both = configured({ ...config, instanceTypes: types }, [placed("c", "w2"), needy], rows);
    expect(plan(held(both, quota(T0 + MINUTE, "group:g")), T0).reserved?.worker).toBe("w2");
  });

  test("`why` does not say that a later run comes first", () => {
    const own = workerRow("own", "ready", { kind: "self-hosted" });
    const both = held(configured(config, [placed("c", "own"), needy, later], [own]), quota(T0 + MINUTE));
    expect(plan(both, T0).reserved).toEqual({ run: "later", worker: "own" });
    expect(explainRun(both, "needy", T0)?.reason.text).not.toContain("own");
    expect(explainRun(both, "later", T0)?.reason.text).toContain("worker own takes no other runs");
  });
});

/** The provider of the story allows so many machines. */
const QUOTA = 2;
const STEP_MS = 5_000;

/** Answers what the pool owes to workers and the provider as those would, and ends each run after a step. */
function step(before: Configured, now: number, nth: number): Configured {
  const over = [...before.runs.live()].filter(isOpen).map(({ run: id }) => id);
  let state = at(before, now, run(`s${nth}-a`, { priority: 10 }), run(`s${nth}-b`, { priority: 10 }));
  for (const { to } of owed(state, now, "create")) {
    const made = [...state.workers.live()].filter((row) => row.instance !== null).length;
    const failure = { class: "quota" as const, text: `quota: ${QUOTA}`, at: now };
    const refused = { phase: "gone" as const, instance: null, bootOutcome: null, readyAt: null, failure };
    state = at(state, now, workerSays(to, made < QUOTA ? {} : refused));
  }
  for (const { to } of owed(state, now, "make_room")) {
    state = at(state, now, workerSays(to, { wantsStop: true, version: 3 }));
    const stops = (state.workers.get(to)?.stopUntil ?? 0) > now;
    if (stops) state = at(state, now, workerSays(to, { phase: "gone", version: 4 }));
  }
  const ends = [...state.runs.live()].filter((row) => isOpen(row) && over.includes(row.run));
  return at(
    state,
    now,
    ...ends.map((row) =>
      run(row.run, { ...upsert(row.run), state: "complete", wants: "nothing", version: 9, ended: 1 }),
    ),
  );
}

test("A1: a big run of high priority is placed while small ones of low priority keep coming", () => {
  let state = at(
    configured(config, [], [workerRow("w1"), workerRow("w2")]),
    T0,
    run("big", { priority: 90, ...vcpus(8) }),
  );
  let steps = 0;
  const isPlaced = () => [...state.runs.live()].some((row) => row.run === "big" && isOpen(row));
  for (; steps < 60 && !isPlaced(); steps += 1) state = step(state, T0 + steps * STEP_MS, steps);
  expect(isPlaced()).toBe(true);
});

describe("A2: a machine that stands in the way leaves at once", () => {
  const full = { ...config, maxInstances: 2, minInstances: 2 };

  test.each<[string, Parameters<typeof workerRow>, RunRow[], string[]]>([
    ["idle", ["w2"], [], ["w2"]],
    ["booting, and no run counts on it", ["w2", "booting"], [], ["w2"]],
    ["busy: it is asked when its last run has ended", ["w2"], [placed("c", "w2")], []],
    ["held by an operator: it stays", ["w2", "ready", { idleBehavior: "hold" }], [], []],
    ["a self-hosted one: it stays", ["w2", "ready", { kind: "self-hosted" }], [], []],
    ["leaving already: nobody asks again", ["w2", "ready", { stopUntil: T0 + 1 }], [], []],
  ])("%s", (_what, row, on, leavers) => {
    const kept = workerRow("w1", "ready", { idleBehavior: "hold" });
    const state = at(configured(full, [...on, needy], [kept, workerRow(...row)]), T0, tick);
    expect(asked(state)).toEqual(leavers);
    expect(asked(at(reloaded(state), T0, tick))).toEqual(leavers);
  });

  test("a booting machine on which a run before it counts is not the one that leaves", () => {
    const first = waiting("first", { priority: 100, ...vcpus(4) });
    const rows = [workerRow("w1", "booting"), workerRow("w2", "booting")];
    expect(asked(at(configured(full, [first, needy], rows), T0, tick))).toEqual(["w2"]);
  });

  test("the pool agrees to its stop, also if asked twice, and asks for what is needed", () => {
    const before = at(configured(full, [needy], [workerRow("w1"), workerRow("w2")]), T0, tick);
    const wants = workerSays("w1", { wantsStop: true });
    const agreed = at(before, T0, wants, wants);
    expect(agreed.workers.get("w1")?.stopUntil).toBeGreaterThan(T0);
    expect(asked(agreed)).toEqual([]);
    const after = at(agreed, T0 + 1, workerSays("w1", { phase: "gone", version: 3 }));
    expect([...after.workers.live()].map(({ instanceType }) => instanceType)).toContain("large");
  });
});

describe("A5: machines with GPUs are kept for the runs that need them", () => {
  const plain = InstanceType.parse({ vcpus: 4, memory: "1GiB", price: 2 });
  const gpu = InstanceType.parse({ vcpus: 8, memory: "1GiB", price: 1.9, gpus: 1 });
  const types = { plain, gpu };
  const rows = [workerRow("g", "ready", { instanceType: "gpu", type: gpu })];
  const asksGpu = waiting("needs", { resources: { ...vcpus(1).resources, gpus: 1 } });

  test.each<[string, Parameters<typeof configured>[0], RunRow, string[], string[]]>([
    ["a run without GPU gets a machine without", {}, waiting("a"), [], ["plain"]],
    ["a run with GPU is placed on one", {}, asksGpu, ["needs@g"], []],
    ["a run that no other type can hold, too", {}, waiting("a", vcpus(5)), ["a@g"], []],
    ["the operator can allow it", { allowRunsWithoutGpus: true }, waiting("a"), ["a@g"], []],
    [
      "where no machine is asked for, all may use what there is",
      { maxInstances: 0 },
      waiting("a"),
      ["a@g"],
      [],
    ],
  ])("%s", (_what, more, one, places, creates) => {
    const made = plan(configured({ instanceTypes: types, ...more }, [one], rows), T0);
    expect(made.places.map((place) => `${place.run.run}@${place.worker}`)).toEqual(places);
    expect(createsOf(made)).toEqual(creates);
  });

  test("a pool of GPU machines alone takes all runs", () => {
    expect(createsOf(plan(configured({ instanceTypes: { gpu } }, [waiting("a")]), T0))).toEqual(["gpu"]);
  });

  test("the least number of machines is made of the types without", () => {
    expect(createsOf(plan(configured({ instanceTypes: types, minInstances: 1 }), T0))).toEqual(["plain"]);
  });

  test("`why` says for whom the idle machine is kept, and that it leaves to make room", () => {
    const state = configured({ instanceTypes: types, maxInstances: 1 }, [waiting("a")], rows);
    const text = explainRun(state, "a", T0)?.reason.text;
    expect(text).toContain("machines with GPUs are kept for runs that ask for GPUs");
    expect(text).toContain(
      "worker g takes no other runs, and ends when it is idle, to make room for this run",
    );
  });
});
