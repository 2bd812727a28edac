import { describe, expect, test } from "vitest";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import type { WorkerRow } from "../../../src/core/pool/record.ts";
import { answerRun } from "../../../src/core/pool/rows/runs.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import {
  at,
  configured,
  createsOf,
  NEED,
  owed,
  placesOf,
  reloaded,
  run,
  T0,
  upsert,
  waiting,
  waitsOf,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

const MIB = 2 ** 20;
const SMALL = { vcpus: 4, memory: "1000MiB", price: 1 };
/** Dearer than `priceFactor` allows, as long as a small one holds the run. */
const LARGE = { vcpus: 4, memory: "2000MiB", price: 3 };
const SMALL_ONLY = { instanceTypes: { small: SMALL } };
const BOTH = { instanceTypes: { small: SMALL, large: LARGE } };

const mib = (count: number) => ({ resources: { ...NEED, memoryBytes: count * MIB } });
const typeOf = (type: typeof SMALL) => ({ disk: "0", gpus: 0, ...type });
const small = (worker: string, phase?: WorkerRow["phase"], more: Partial<WorkerRow> = {}) =>
  workerRow(worker, phase, { type: typeOf(SMALL), ...more });
/** A machine is ready, and its host has measured so much. */
const measured = (worker: string, count: number) => workerSays(worker, { measuredMemory: count * MIB });
const configure = (more: Partial<PoolConfigInput>): PoolEvent => ({
  type: "configure",
  body: { pool: "default", revision: 2, config: poolConfig(more), seed: "s" },
});
const learnedOf = ({ record }: Configured) => record.learned?.small;
const asked = (state: Configured) => owed(state, T0, "create").map((one) => one.to);
/** A pool of which a small machine has turned out to have 900 MiB. */
const taught = (more: Partial<PoolConfigInput> = BOTH) =>
  at(configured(more, [], [small("w1", "booting")]), T0, measured("w1", 900));

// decisions/pool.md#instance-choice
describe("a pool learns how much memory the machines of a type have", () => {
  test.each([
    ["less than 95 % of what is advertised", [900], 900],
    ["95 %", [950], undefined],
    ["all of it", [1_000], undefined],
    ["more, as where machines are shares of one host", [64_000], undefined],
    ["of several machines the least", [900, 800, 940], 800],
  ])("%s", (_what, counts, learned) => {
    const workers = counts.map((_count, i) => small(`w${i}`, "booting"));
    const says = counts.map((count, i) => measured(`w${i}`, count));
    expect(learnedOf(at(configured(BOTH, [], workers), T0, ...says))).toBe(learned && learned * MIB);
  });

  test("nothing from a machine that says nothing, as one of an older version", () => {
    const state = at(configured(BOTH, [], [small("w1", "booting")]), T0, workerSays("w1"));
    expect(state.record.learned).toBeUndefined();
  });

  test("nothing from one that was asked for when the type was another", () => {
    const old = small("w1", "booting", { type: typeOf({ ...SMALL, vcpus: 2 }) });
    const state = at(configured(BOTH, [], [old]), T0, measured("w1", 900));
    expect(state.record.learned).toBeUndefined();
  });

  test("nothing from a self-hosted machine", () => {
    const own = small("w1", "booting", { kind: "self-hosted" });
    expect(at(configured(BOTH, [], [own]), T0, measured("w1", 900)).record.learned).toBeUndefined();
  });

  test("it outlives the last machine of the type, and a restart", () => {
    const gone = workerSays("w1", { version: 3, phase: "gone", measuredMemory: 900 * MIB });
    expect(learnedOf(reloaded(at(taught(), T0, gone)))).toBe(900 * MIB);
  });

  test("saying it again changes nothing", () => {
    const state = taught();
    const again = poolMachine.apply(state, measured("w1", 900), T0);
    expect(again.record).toBe(state.record);
  });

  test("a type may be called like something that every object has", () => {
    const odd = { instanceTypes: { constructor: SMALL, small: SMALL } };
    const state = at(taught(odd), T0, run("a", mib(950)));
    expect(state.workers.get("default-s-1")).toMatchObject({ instanceType: "constructor" });
  });
});

describe("what is learned replaces the 95 % of that type", () => {
  test.each([
    ["what was measured is enough", 900, ["small"]],
    ["what was measured is too little: the next type, at whatever price", 901, ["large"]],
  ])("where a machine is asked for: %s", (_what, count, types) => {
    const { record } = taught();
    const state = { ...configured(BOTH, [waiting("a", mib(count))]), record };
    expect(createsOf(plan(state, T0))).toEqual(types);
  });

  test.each<[string, WorkerRow, number, boolean]>([
    ["its own measure, to the byte", small("w2", "ready", { measuredMemory: 920 * MIB }), 920, true],
    ["not beyond it", small("w2", "ready", { measuredMemory: 920 * MIB }), 921, false],
    ["never beyond 95 %", small("w2", "ready", { measuredMemory: 9_000 * MIB }), 951, false],
    ["that of its type, if it has said nothing", small("w2"), 900, true],
    ["and not beyond that", small("w2"), 901, false],
    [
      "95 %, if its type was another when it was asked for",
      small("w2", "ready", { type: typeOf({ ...SMALL, vcpus: 2 * SMALL.vcpus }) }),
      950,
      true,
    ],
  ])("where a machine is packed: by %s", (_what, worker, count, fits) => {
    const { record } = taught(SMALL_ONLY);
    const state = { ...configured(SMALL_ONLY, [waiting("a", mib(count))], [worker]), record };
    expect(placesOf(state)).toEqual(fits ? ["a@w2"] : []);
  });

  test("runs together have no more than that", () => {
    const workers = [small("w2", "ready", { measuredMemory: 900 * MIB })];
    const runs = [waiting("a", mib(450)), waiting("b", mib(450)), waiting("c", mib(1))];
    expect(placesOf(configured({ ...SMALL_ONLY, maxInstances: 1 }, runs, workers))).toEqual(["a@w2", "b@w2"]);
  });

  test("no run waits for a booting machine that will not hold it", () => {
    const { record } = taught();
    const state = { ...configured(BOTH, [waiting("a", mib(950))], [small("w2", "booting")]), record };
    expect(createsOf(plan(state, T0))).toEqual(["large"]);
  });
});

describe("a type that never fits is not asked for again (cases.md#learned-memory)", () => {
  const story = (more: Partial<PoolConfigInput>) => at(configured(more), T0, run("a", mib(950)));
  const first = "default-s-1";

  test("the run goes to the next type, as soon as the first machine has shown what it has", () => {
    const before = story(BOTH);
    expect(asked(before)).toEqual([first]);
    const state = at(before, T0, measured(first, 900));
    expect(state.workers.get("default-s-2")).toMatchObject({ instanceType: "large" });
  });

  test("without another type it waits, and is told the numbers; nothing more is asked for", () => {
    const state = at(story(SMALL_ONLY), T0, measured(first, 900));
    expect(state.record.nextWorker).toBe(2);
    expect(explainRun(state, "a", T0)).toMatchObject({
      reason: { code: "less_memory", text: expect.stringMatching(/950MiB.*small 900MiB of 1000MiB/) },
      next: { at: null },
    });
  });

  test("not when that machine is gone either, nor after a restart", () => {
    const gone = workerSays(first, { version: 3, phase: "gone", measuredMemory: 900 * MIB });
    const state = at(reloaded(at(story(SMALL_ONLY), T0, measured(first, 900), gone)), T0, { type: "tick" });
    expect(state.record.nextWorker).toBe(2);
    expect(waitsOf(plan(state, T0))).toEqual({ a: "less_memory" });
  });

  test("a run that no type should hold is told that, and no numbers", () => {
    const { record } = taught();
    const state = { ...configured(BOTH, [waiting("a", mib(5_000))]), record };
    expect(waitsOf(plan(state, T0))).toEqual({ a: "no_type" });
  });

  test("a run is refused for what is configured alone, never for what was learned", () => {
    const wanted = upsert("a", mib(950));
    expect(answerRun(taught(SMALL_ONLY), wanted, T0)).toEqual({ kind: "none", version: 0 });
    expect(answerRun(taught(SMALL_ONLY), upsert("a", mib(951)), T0)).toMatchObject({ code: "unsatisfiable" });
  });
});

describe("what was learned is forgotten when it may be true no more", () => {
  test.each<[string, Partial<PoolConfigInput>, boolean]>([
    ["another bound of the pool: kept", { ...BOTH, maxInstances: 7 }, true],
    ["another type: kept", { instanceTypes: { small: SMALL, large: { ...LARGE, vcpus: 8 } } }, true],
    ["the type itself: forgotten", { instanceTypes: { small: { ...SMALL, memory: "990MiB" } } }, false],
    ["the type is no more: forgotten", { instanceTypes: { large: LARGE } }, false],
    ["the image: forgotten", { ...BOTH, image: "other" }, false],
  ])("%s", (_what, more, kept) => {
    const state = at(taught(), T0, configure(more));
    expect(learnedOf(state)).toBe(kept ? 900 * MIB : undefined);
    // The machine of before goes on talking, and teaches nothing that was forgotten.
    expect(learnedOf(at(state, T0, workerSays("w1", { version: 3, measuredMemory: 900 * MIB })))).toBe(
      learnedOf(state),
    );
  });

  test("another provider", () => {
    const gone = workerSays("w1", { version: 3, phase: "gone", measuredMemory: 900 * MIB });
    const provider = { kind: "http" as const, url: "http://other.test", secret: "s" };
    expect(learnedOf(at(taught(), T0, gone, configure({ ...BOTH, provider })))).toBeUndefined();
  });

  test("the run that waited for it is tried again", () => {
    const before = at(configured(SMALL_ONLY), T0, run("a", mib(950)), measured("default-s-1", 900));
    const instanceTypes = { small: { ...SMALL, memory: "1100MiB" } };
    expect(at(before, T0, configure({ instanceTypes })).record.nextWorker).toBe(3);
  });
});
