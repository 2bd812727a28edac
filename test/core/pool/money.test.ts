import { describe, expect, test } from "vitest";
import type { WorkerFailure } from "../../../src/core/messages.ts";
import { eligibleOffers, offersOf } from "../../../src/core/pool/plan/eligible.ts";
import { priceOfRow, rateOf, spendOf, spentSince } from "../../../src/core/pool/read/money.ts";
import { poolView, workerSummary } from "../../../src/core/pool/read/views.ts";
import { type InstanceType, PoolView, WorkerSummary } from "../../../src/schema/pool.ts";
import { answer, configured, MINUTE, NEED, owed, POOL, placed, T0, workerRow } from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

const TYPE: InstanceType = { vcpus: 4, memory: "1GiB", disk: "0", gpus: 0 };
const at = (price?: number): InstanceType => (price === undefined ? TYPE : { ...TYPE, price });
const GIB = 1024 ** 3;

describe("what a pool's machines cost an hour (api.md#spend: spend per hour, worst-case bill)", () => {
  const types = { cheap: { vcpus: 1, memory: "1GiB", price: 0.1 }, dear: { ...TYPE, price: 2 } };

  test("all that may exist count, whatever their state, and what is gone does not (invariant 3)", () => {
    const phases = ["asked", "booting", "ready", "unknown", "shutdown", "gone"] as const;
    const workers = phases.map((phase, n) => workerRow(`w${n}`, phase, { type: at(1) }));
    expect(spendOf(configured({ instanceTypes: types, maxInstances: 8 }, [], workers))).toEqual({
      perHour: 5,
      unpriced: 0,
      worstPerHour: 16,
    });
  });

  test("a machine costs what it was asked for, not what its type costs now", () => {
    const workers = [workerRow("w1", "ready", { type: at(7) })];
    expect(spendOf(configured({ instanceTypes: types, maxInstances: 1 }, [], workers))).toMatchObject({
      perHour: 7,
      worstPerHour: 7,
    });
  });

  test("what its provider says comes before the list, also where that says nothing (pool.md#prices)", () => {
    const listedPrice = { price: 0.5, since: T0 };
    const workers = [at(7), at()].map((type, n) => workerRow(`w${n}`, "ready", { type, listedPrice }));
    expect(spendOf(configured({ instanceTypes: types, maxInstances: 2 }, [], workers))).toMatchObject({
      perHour: 1,
      unpriced: 0,
    });
    expect(workers.map((row) => rateOf({ ...NEED, vcpus: 2, memoryBytes: 0 }, row))).toEqual([0.25, 0.25]);
  });

  test.each<[WorkerFailure["class"], number]>([
    ["rate_limit", 0],
    ["quota", 0],
    ["capacity", 0],
    ["invalid", 0],
    ["temporary", 1],
    ["boot", 1],
  ])(
    "P3: one whose create has failed by `%s` costs %d: only a refusal says that none was made",
    (cls, cost) => {
      const failure = { class: cls, text: "no", at: T0 };
      const workers = ["booting", "shutdown"] as const;
      for (const phase of workers) {
        const row = workerRow("w1", phase, { type: at(1), failure, instance: null });
        expect(spendOf(configured({ instanceTypes: types }, [], [row])).perHour).toBe(cost);
        expect(spentSince(row, T0 + 3_600_000)).toBe(cost);
        const seen = { ...row, instance: "i-1" };
        expect(spendOf(configured({ instanceTypes: types }, [], [seen])).perHour).toBe(1);
      }
    },
  );

  test("a self-hosted machine costs nothing", () => {
    const own = workerRow("w1", "ready", { kind: "self-hosted", type: at(), resources: NEED });
    expect(priceOfRow(own)).toBe(0);
    expect(spendOf(configured({ instanceTypes: types, maxInstances: 0 }, [], [own]))).toEqual({
      perHour: 0,
      unpriced: 0,
      worstPerHour: 0,
    });
  });

  test("a price that is not known is never 0 in silence (cases.md#case-21)", () => {
    const state = configured(
      { instanceTypes: { ...types, unknown: TYPE } },
      [],
      [workerRow("w1", "ready", { type: at() }), workerRow("w2", "ready", { type: at(1) })],
    );
    expect(spendOf(state)).toEqual({ perHour: 1, unpriced: 1, worstPerHour: null });
    const view = poolView(state, T0);
    expect(PoolView.parse(view).spend).toEqual(spendOf(state));
    const shown = workerSummary(workerRow("w1", "ready", { type: at() }), [], POOL);
    expect(WorkerSummary.parse(shown).price).toBeNull();
  });

  test("a type without a price is still used, after those that have one (cases.md#case-21)", () => {
    const config = poolConfig({ instanceTypes: { unknown: TYPE, cheap: types.cheap } });
    expect(eligibleOffers(config, { resources: NEED }).map(({ name }) => name)).toEqual(["cheap", "unknown"]);
  });

  test("a type whose price its cloud no longer names does not shut out those that have one", () => {
    const config = poolConfig({ instanceTypes: { gone: TYPE, there: TYPE } });
    const prices = [{ type: "there", zone: null, spot: false, price: 0.01 }];
    const offers = eligibleOffers(config, { resources: NEED }, offersOf({ config, prices }));
    expect(offers.map(({ name }) => name)).toEqual(["there", "gone"]);
  });

  test.each<[string, { price?: number }, { price?: number }, string[]]>([
    ["spot has a price and the twin has none", { price: 0.03 }, {}, ["spot"]],
    ["the twin has a price and spot has none", {}, { price: 0.1 }, ["spot"]],
    ["neither has one", {}, {}, ["spot"]],
    ["the twin is no dearer", { price: 0.1 }, { price: 0.1 }, ["spot:on-demand", "spot"]],
  ])("an on-demand twin comes first only if it is known to be no dearer: %s", (_what, spot, twin, names) => {
    const type = { vcpus: 4, memory: "8GiB", preemptible: true };
    const config = poolConfig({ instanceTypes: { spot: { ...type, ...spot, fallback: twin } } });
    const rule = { isImpatient: false, isHeld: () => false };
    const offers = eligibleOffers(config, { resources: NEED }, undefined, rule);
    expect(offers.map(({ name }) => name)).toEqual(names);
  });
});

describe("what an hour of a run costs: the price times its greatest share of the machine", () => {
  test.each<[string, Partial<typeof NEED>, number]>([
    ["half of the processors", { vcpus: 2, memoryBytes: 0 }, 4],
    ["all of the memory", { vcpus: 1, memoryBytes: GIB }, 8],
    ["more than there is, as an order of before may", { vcpus: 9 }, 8],
    ["what the machine has none of", { vcpus: 0, memoryBytes: 0, diskBytes: 5 }, 0],
  ])("%s", (_what, need, rate) => {
    expect(rateOf({ ...NEED, ...need }, workerRow("w1", "ready", { type: at(8) }))).toBe(rate);
  });

  test("the run is told with its place, and again as long as it has not heard", () => {
    const state = configured({}, [placed("a", "w1")], [workerRow("w1", "ready", { type: at(8) })]);
    expect(answer(state, "a")).toEqual({
      kind: "placed",
      worker: "w1",
      epoch: 1,
      rate: 2,
      maxKillMs: 60 * MINUTE,
    });
    expect(owed(state, T0, "place")[0]?.body).toMatchObject({ epoch: 1, rate: 2 });
  });

  test("nothing is told where the price is not known", () => {
    const state = configured({}, [placed("a", "w1")], [workerRow("w1", "ready", { type: at() })]);
    expect(answer(state, "a")).toEqual({ kind: "placed", worker: "w1", epoch: 1, maxKillMs: 60 * MINUTE });
  });
});
