import { describe, expect, test } from "vitest";
import type { RunUpsert } from "../../../src/core/messages.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import type { RunRow, WorkerRow } from "../../../src/core/pool/record.ts";
import {
  configured,
  createsOf,
  held,
  hold,
  MINUTE,
  NEED,
  placed,
  placesOf,
  T0,
  vcpus,
  waiting,
  waitsOf,
  workerRow,
} from "../support/pool.ts";

const waits = (...args: Parameters<typeof configured>) => waitsOf(plan(configured(...args), T0));
const FULL = { maxInstances: 1 };
const smallType = { ...workerRow("x").type, vcpus: 2 };

describe("the queue is by priority, then by submission (decisions/pool.md#d19)", () => {
  test.each([
    ["a higher priority first", [waiting("a"), waiting("b", { priority: 51 })], ["b", "a"]],
    [
      "an earlier submission first",
      [waiting("b", { submittedAt: T0 + 1 }), waiting("a", { submittedAt: T0 + 2 })],
      ["b", "a"],
    ],
    [
      "in the same millisecond by id, so that the same view gives the same order",
      [waiting("b"), waiting("a")],
      ["a", "b"],
    ],
    [
      "priority before submission",
      [waiting("a"), waiting("b", { submittedAt: T0 + 9, priority: 51 })],
      ["b", "a"],
    ],
    ["without those that have a place", [placed("a", "w1"), waiting("b")], ["b"]],
    ["without those that want none", [waiting("a", { wants: "nothing" }), waiting("b")], ["b"]],
  ])("%s", (_what, runs, order) => {
    expect(configured({}, runs).memo.index.queue.map((row) => row.run)).toEqual(order);
  });

  test("the last place goes to the first of the queue (pool.md#rule-1)", () => {
    const runs = [waiting("low", { priority: 1 }), waiting("high", { priority: 99 })];
    expect(placesOf(configured({ maxRunsPerInstance: 1, ...FULL }, runs, [workerRow("w1")]))).toEqual([
      "high@w1",
    ]);
  });
});

describe("a run goes to the fullest ready worker that it fits (pool.md#rule-4)", () => {
  const workers = [workerRow("w1"), workerRow("w2"), workerRow("w3")];
  const on = [placed("x", "w2", vcpus(2)), placed("y", "w3", vcpus(3))];

  test.each([
    ["the fullest", 1, ["a@w3"]],
    ["the fullest that has enough", 2, ["a@w2"]],
    ["an empty one, if only that has enough", 4, ["a@w1"]],
  ])("%s", (_what, count, places) => {
    expect(placesOf(configured({}, [...on, waiting("a", vcpus(count))], workers))).toEqual(places);
  });

  test("what this plan has placed counts as well", () => {
    const runs = [waiting("a", vcpus(3)), waiting("b", vcpus(3)), waiting("c")];
    expect(placesOf(configured({}, runs, workers))).toEqual(["a@w1", "b@w2", "c@w1"]);
  });

  test("a ready one comes before a fuller one that boots", () => {
    const booting = workerRow("w0", "booting", { type: { ...workerRow("x").type, vcpus: 1 } });
    expect(placesOf(configured({}, [waiting("a")], [booting, workerRow("w1")]))).toEqual(["a@w1"]);
  });

  // restart.md#penalty: the failed node gets a penalty, no more.
  test.each([
    ["one on which the run has failed comes after all others that are ready", ["w3"], ["a@w2"]],
    ["however many those are", ["w3", "w2"], ["a@w1"]],
    ["but it comes before none at all", ["w1", "w2", "w3"], ["a@w3"]],
  ])("%s", (_what, avoid, places) => {
    expect(placesOf(configured({}, [...on, waiting("a", { avoid })], workers))).toEqual(places);
  });

  // tasks.md#sticky-data: the previous node is preferred if it is ready; here the data win over the penalty.
  test.each<[string, Partial<RunUpsert>, Partial<WorkerRow>, string[]]>([
    ["comes before fuller ones", {}, {}, ["a@w1"]],
    ["also where the run has failed", { avoid: ["w1"] }, {}, ["a@w1"]],
    ["not where it has no room", vcpus(3), { type: smallType }, ["a@w2"]],
    ["not where it is set to drain", {}, { idleBehavior: "drain" }, ["a@w2"]],
    ["not where it is not ready", {}, { phase: "unknown" }, ["a@w2"]],
    ["not where it is about to stop", {}, { stopUntil: T0 + 1 }, ["a@w2"]],
    ["not where it has just refused a run", {}, { refusals: 1, pausedUntil: T0 + 1 }, ["a@w2"]],
    ["and nothing is preferred after a loss", { prefer: null, avoid: ["w1"] }, {}, ["a@w2"]],
  ])("the one that keeps the data of a sticky run %s", (_what, more, worker, places) => {
    const rows = [workerRow("w1", "ready", worker), workerRow("w2")];
    const state = configured(FULL, [placed("x", "w2"), waiting("a", { prefer: "w1", ...more })], rows);
    expect(placesOf(state)).toEqual(places);
  });

  test("a run of a higher priority gets the room that a sticky one would prefer", () => {
    const sticky = waiting("low", { priority: 1, prefer: "w1", ...vcpus(3) });
    const runs = [sticky, waiting("high", { priority: 99, ...vcpus(3) })];
    expect(placesOf(configured({}, runs, [workerRow("w1"), workerRow("w2")]))).toEqual(["high@w1", "low@w2"]);
  });

  test("one on which the run has failed comes before one that boots", () => {
    const booting = workerRow("w0", "booting");
    expect(placesOf(configured({}, [waiting("a", { avoid: ["w1"] })], [booting, workerRow("w1")]))).toEqual([
      "a@w1",
    ]);
  });

  test("runs without vCPUs share one (pool.md#fit)", () => {
    const shared = ["a", "b", "c"].map((id) => waiting(id, vcpus(0)));
    const state = configured(FULL, [placed("x", "w1", vcpus(3)), ...shared], [workerRow("w1")]);
    expect(placesOf(state)).toEqual(["a@w1", "b@w1", "c@w1"]);
    const full = configured(FULL, [placed("x", "w1", vcpus(4)), ...shared], [workerRow("w1")]);
    expect(placesOf(full)).toEqual([]);
  });

  test.each<[string, Partial<WorkerRow>]>([
    ["set to hold", { idleBehavior: "hold" }],
    ["set to drain", { idleBehavior: "drain" }],
    ["silent", { phase: "unknown" }],
    ["being destroyed", { phase: "shutdown" }],
    ["about to stop, by our consent", { stopUntil: T0 + 1 }],
  ])("nothing is placed on a worker that is %s", (_what, more) => {
    expect(placesOf(configured(FULL, [waiting("a")], [workerRow("w1", "ready", more)]))).toEqual([]);
  });

  test("our consent to stop is over at its time", () => {
    const state = configured(FULL, [waiting("a")], [workerRow("w1", "ready", { stopUntil: T0 })]);
    expect(placesOf(state)).toEqual(["a@w1"]);
  });

  test("`maxRunsPerInstance` bounds what is on one, and 0 is no bound", () => {
    const runs = ["a", "b", "c", "d"].map((id) => waiting(id));
    const places = (maxRunsPerInstance: number) =>
      placesOf(configured({ maxRunsPerInstance, ...FULL }, runs, [workerRow("w1")]));
    expect(places(2)).toEqual(["a@w1", "b@w1"]);
    expect(places(0)).toEqual(["a@w1", "b@w1", "c@w1", "d@w1"]);
  });

  test("a worker has what it was asked for with, whatever the configuration says now", () => {
    const instanceTypes = { small: { vcpus: 64, memory: "1TiB" } };
    const state = configured({ instanceTypes, ...FULL }, [waiting("a", vcpus(5))], [workerRow("w1")]);
    expect(placesOf(state)).toEqual([]);
  });

  test("nothing that cannot be placed blocks what comes behind it (decisions/pool.md#d19)", () => {
    const runs = [waiting("big", { priority: 99, ...vcpus(5) }), waiting("small")];
    const state = configured(FULL, [placed("x", "w1"), ...runs], [workerRow("w1")]);
    // pool.md#rule-2
    expect(placesOf(state)).toEqual(["small@w1"]);
    expect(waits(FULL, [placed("x", "w1"), ...runs], [workerRow("w1")])).toEqual({ big: "no_type" });
  });
});

test("a plan that is made again with the machine that it has asked for asks for no more", () => {
  const slow = workerRow("w1", "ready", { pausedUntil: T0 + 1, askedAt: T0 - 1 });
  const boots = workerRow("w2", "booting", { askedAt: T0 - 1 });
  const queue = [
    waiting("a"),
    waiting("b", { ...vcpus(4), submittedAt: T0 + 1 }),
    waiting("c", { ...vcpus(4), submittedAt: T0 + 2 }),
  ];
  const first = plan(configured({}, queue, [slow, boots]), T0);
  expect(createsOf(first)).toEqual(["small"]);
  const again = plan(configured({}, queue, [slow, boots, workerRow("default-s-1", "asked")]), T0);
  expect(createsOf(again)).toEqual([]);
  expect(waitsOf(again)).toEqual({
    a: "machine_booting w1",
    b: "machine_booting w2",
    c: "machine_booting default-s-1",
  });
});

// decisions/pool.md#booting-machines
describe("a run that fits no ready worker counts on a booting one, unbound", () => {
  test.each(["booting", "asked"] as const)("one that is %s: no other machine is asked for", (phase) => {
    const result = plan(configured({}, [waiting("a"), waiting("b")], [workerRow("w1", phase)]), T0);
    expect(createsOf(result)).toEqual([]);
    expect(result.places).toEqual([]);
    expect(waitsOf(result)).toEqual({ a: "machine_booting w1", b: "machine_booting w1" });
  });

  test("whichever becomes ready first takes it", () => {
    const workers = [workerRow("w1", "booting"), workerRow("w2", "ready")];
    expect(placesOf(configured({}, [waiting("a")], workers))).toEqual(["a@w2"]);
  });

  test("only so many count on it as it can hold (pool.md#rule-3)", () => {
    const runs = [waiting("a", vcpus(3)), waiting("b", vcpus(3))];
    const result = plan(configured({}, runs, [workerRow("w1", "booting")]), T0);
    expect(waitsOf(result)).toEqual({ a: "machine_booting w1", b: "machine_asked" });
    expect(createsOf(result)).toEqual(["small"]);
  });
});

describe("a run says why it waits (invariant 5)", () => {
  const booting = workerRow("w1", "booting");
  const many: RunRow[] = [waiting("a", vcpus(4)), waiting("b", vcpus(4))];

  test.each<[string, Parameters<typeof configured>, Record<string, string>]>([
    ["for a machine that boots", [{}, [waiting("a")], [booting]], { a: "machine_booting w1" }],
    ["for a machine that is asked for by this plan", [{}, [waiting("a")], []], { a: "machine_asked" }],
    [
      "for creates that are under way",
      [{ maxConcurrentCreates: 1 }, many, []],
      { a: "machine_asked", b: "machine_asked" },
    ],
    ["for any machine at all", [{ maxInstances: 0 }, [waiting("a")], []], { a: "no_workers" }],
    [
      "for room, since there may be no more machines",
      [FULL, many, []],
      { a: "machine_asked", b: "max_instances" },
    ],
    [
      "for an instance type, since it was configured away",
      [{}, [waiting("a", vcpus(5))], []],
      { a: "no_type" },
    ],
  ])("%s", (_what, args, expected) => {
    expect(waits(...args)).toEqual(expected);
  });

  test("for the end of a hold-off", () => {
    const state = configured({}, [waiting("a")]);
    const blocked = held(state, hold(T0 + MINUTE));
    expect(waitsOf(plan(blocked, T0 + MINUTE - 1))).toEqual({ a: "hold_off" });
    expect(waitsOf(plan(blocked, T0 + MINUTE))).toEqual({ a: "machine_asked" });
  });
});

test("a need beyond any resource, not only vCPUs, keeps a run off a worker", () => {
  const needs = [{ memoryBytes: 2 ** 30 }, { diskBytes: 1 }, { gpus: 1 }];
  for (const need of needs) {
    const state = configured(FULL, [waiting("a", { resources: { ...NEED, ...need } })], [workerRow("w1")]);
    expect(placesOf(state)).toEqual([]);
  }
});
