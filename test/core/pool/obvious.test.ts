import fc from "fast-check";
import { expect, test } from "vitest";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import type { Hold, RunRow, WorkerRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import { InstanceType, type PoolConfigInput } from "../../../src/schema/pool.ts";
import { obviousPlan } from "../support/obvious-plan.ts";
import { configured, createsOf, hold, placed, T0, waiting, waitsOf, workerRow } from "../support/pool.ts";

const instanceTypes = {
  small: InstanceType.parse({ vcpus: 2, memory: 1_000, price: 1 }),
  large: InstanceType.parse({ vcpus: 6, memory: 4_000, disk: 100, price: 3, quotaGroup: "big" }),
  gpu: InstanceType.parse({ vcpus: 4, memory: 4_000, gpus: 2, price: 2.5, quotaGroup: "big" }),
};
const { price: _price, ...unpriced } = instanceTypes.small;
const types = ["small", "large", "gpu"] as const;
const names = Array.from({ length: 10 }, (_, n) => `r${n}`);

const run: fc.Arbitrary<RunRow> = fc
  .record({
    id: fc.constantFrom(...names),
    project: fc.constantFrom("default", "default", "ml", "ml", "old"),
    budget: fc.constantFrom(null, null, null, { payer: "t", perHour: 1 }, { payer: "t", perHour: 2.5 }),
    resources: fc.record({
      vcpus: fc.oneof(fc.nat(6), fc.constantFrom(0.1, 0.2, 0.3, 0.5, 0.7, 1.5)),
      memoryBytes: fc.constantFrom(0, 300, 950, 3_800, 3_801),
      diskBytes: fc.constantFrom(0, 0, 0, 60),
      gpus: fc.constantFrom(0, 0, 0, 1, 2),
    }),
    priority: fc.integer({ min: 1, max: 3 }),
    later: fc.nat(3),
    avoid: fc.constantFrom<string[]>([], [], ["w1"], ["w2", "w3"]),
    prefer: fc.constantFrom(null, null, "w1", "w4"),
    array: fc.constantFrom(
      undefined,
      undefined,
      { id: "a", index: 0, size: 9 },
      { id: "a", index: 0, size: 9, maxParallel: 1 },
      { id: "a", index: 0, size: 9, maxParallel: 2 },
      { id: "b", index: 0, size: 9, maxParallel: 2 },
    ),
    concurrency: fc.option(
      fc.record({
        key: fc.constantFrom("k", "k", "l"),
        limit: fc.constantFrom(1, 1, 2),
        strategy: fc.constantFrom("queue", "round-robin", "round-robin"),
      }),
      { nil: undefined, freq: 2 },
    ),
    turn: fc.nat(4),
    on: fc.constantFrom<(string | null)[]>(null, null, null, "w1", "w2", "w3"),
  })
  .map(({ id, later, on, array, concurrency, turn, ...more }) => {
    const said = {
      ...more,
      submittedAt: T0 + later,
      ...(array === undefined ? {} : { array }),
      ...(concurrency === undefined ? {} : { concurrency }),
    };
    const row = on === null ? waiting(id, said) : placed(id, on, said);
    return concurrency?.strategy === "round-robin" ? { ...row, turn } : row;
  });

const worker: fc.Arbitrary<WorkerRow> = fc
  .record({
    id: fc.constantFrom("w1", "w2", "w3", "w4", "w5"),
    phase: fc.constantFrom<WorkerRow["phase"]>(
      "ready",
      "ready",
      "ready",
      "booting",
      "asked",
      "unknown",
      "shutdown",
    ),
    instanceType: fc.constantFrom(...types),
    own: fc.constantFrom(false, false, false, true),
    made: fc.boolean(),
    idleBehavior: fc.constantFrom<WorkerRow["idleBehavior"]>("run", "run", "run", "drain"),
    stopUntil: fc.constantFrom(0, 0, 0, T0 + 1),
    pausedUntil: fc.constantFrom(0, 0, 0, T0 + 1),
    refusals: fc.constantFrom(1, 3),
    askedAt: fc.constantFrom(T0 - 10, T0),
    waits: fc.constantFrom<("create" | undefined)[]>(undefined, undefined, "create"),
    listedPrice: fc.constantFrom(null, null, { price: 1.5, since: T0 }),
    project: fc.constantFrom(null, null, null, "default", "ml", "ml", "old", "*"),
    turn: fc.constantFrom(
      undefined,
      { version: 1, at: T0 - 3, call: "create" as const },
      { version: 0, at: T0 - 3, call: "create" as const },
    ),
    endsSince: fc.constantFrom(T0, T0 - 300_000),
  })
  .map(({ id, phase, own, made, turn, waits, endsSince, ...more }) => {
    const calls = { ...(turn ? { turn } : {}), ...(waits && phase === "booting" ? { waits } : {}) };
    const instance = made && phase === "booting" ? { instance: `i-${id}` } : {};
    const type = instanceTypes[more.instanceType];
    return workerRow(id, phase, {
      type,
      ...(own ? { kind: "self-hosted" as const } : {}),
      ...instance,
      ...calls,
      endingAt: phase === "shutdown" ? endsSince : null,
      ...more,
    });
  });

const holdOff: fc.Arbitrary<Hold> = fc
  .record({
    cause: fc.constantFrom<Hold["cause"]>("quota", "quota", "quota", "temporary", "capacity"),
    scope: fc.constantFrom("all", "group:big", "type:small", "type:large"),
    until: fc.constantFrom(T0 + 1, T0 + 1, T0, T0 - 5),
  })
  .map(({ until, ...more }) => hold(until, more));

const both = { default: {}, ml: {} };
const quota = fc.record(
  {
    maxRuns: fc.integer({ min: 1, max: 3 }),
    maxInstances: fc.integer({ min: 1, max: 3 }),
    maxCostPerHour: fc.constantFrom(0.5, 1, 2.5, 4),
  },
  { requiredKeys: [] },
);
/** Whom the pool serves, with which quotas, and whether their machines are shared. */
const projects = fc
  .record({
    named: fc.oneof(
      fc.constantFrom<PoolConfigInput["projects"]>(undefined, both, { ml: {} }),
      fc.record({ default: quota, ml: quota }),
    ),
    shareMachines: fc.constantFrom(false, false, false, true),
  })
  .map(({ named, shareMachines }) => {
    const shared = Object.entries(named ?? {}).map(([name, { maxInstances: _none, ...rest }]) => [
      name,
      rest,
    ]);
    const all = shareMachines && named !== undefined ? Object.fromEntries(shared) : named;
    return { projects: all, shareMachines };
  });

const machines: fc.Arbitrary<Partial<PoolConfigInput>> = fc.record({
  instanceTypes: fc.constantFrom(instanceTypes, instanceTypes, { ...instanceTypes, small: unpriced }),
  minInstances: fc.constantFrom(0, 0, 2),
  maxInstances: fc.nat(6),
  maxRunsPerInstance: fc.constantFrom(0, 0, 2),
  maxConcurrentCreates: fc.integer({ min: 1, max: 4 }),
  priceFactor: fc.constantFrom(1, 1.5, 3),
  allowRunsWithoutGpus: fc.constantFrom(false, false, false, true),
});
const config: fc.Arbitrary<Partial<PoolConfigInput>> = fc
  .tuple(machines, projects)
  .map(([some, others]) => ({ ...some, ...others }));

const view: fc.Arbitrary<Configured> = fc
  .record({
    config,
    workers: fc.uniqueArray(worker, { selector: (one) => one.worker, maxLength: 5 }),
    runs: fc.uniqueArray(run, { selector: (one) => one.run, maxLength: 10 }),
    holds: fc.uniqueArray(holdOff, { selector: ({ cause, scope }) => `${cause} ${scope}`, maxLength: 2 }),
  })
  .map(({ config: more, workers, runs, holds }) => {
    const there = new Set(workers.map((one) => one.worker));
    const state = configured(
      more,
      runs.filter((one) => one.worker === null || there.has(one.worker)),
      workers,
    );
    return { ...state, record: { ...state.record, holds } };
  });

test("A1, A2, A4, A5: the plan is what a slow and obvious one says, whatever waits and is there", () => {
  fc.assert(
    fc.property(view, (state) => {
      const made = plan(state, T0);
      const places = made.places.map((one) => `${one.run.run}@${one.worker}`);
      const said = { places, creates: createsOf(made), waits: waitsOf(made), reserved: made.reserved };
      expect(said).toEqual(obviousPlan(state, T0));
    }),
    { numRuns: 1_000 },
  );
});
