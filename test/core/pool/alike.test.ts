import fc from "fast-check";
import { expect, test } from "vitest";
import { likenessOf } from "../../../src/core/pool/plan/alike.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import type { RunRow } from "../../../src/core/pool/record.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import { configured, MINUTE, placed, T0, vcpus, waiting, workerRow } from "../support/pool.ts";

const wanted = fc.record({
  priority: fc.constantFrom(50, 50, 50, 60),
  resources: fc.constantFrom(0, 1, 1, 1, 2, 4, 9).map((count) => vcpus(count).resources),
  project: fc.constantFrom("default", "default", "ml"),
  budget: fc.constantFrom(null, null, { payer: "t", perHour: 0.6 }),
  submittedAt: fc.constantFrom(T0, T0 - 30 * MINUTE),
  array: fc.constantFrom(undefined, undefined, { id: "many", index: 0, maxParallel: 2 }),
  protocol: fc.constantFrom(0, 0, 1_000),
});

const configs = fc.record<Partial<PoolConfigInput>>({
  minInstances: fc.nat(2),
  maxInstances: fc.nat(5),
  maxRunsPerInstance: fc.constantFrom(0, 2),
  maxConcurrentCreates: fc.integer({ min: 1, max: 3 }),
  projects: fc.constantFrom({ default: {}, ml: {} }, { default: { maxRuns: 3 }, ml: { maxInstances: 1 } }),
});

/** The same run, which a plan takes for unlike all others: no machine has this name. */
const unlike = (run: RunRow): RunRow => ({ ...run, avoid: ["a machine that is not there"] });

test("what was decided on an equal run is what would be decided again (pool.md#alike)", () => {
  const phases = fc.constantFrom("ready", "ready", "booting", "shutdown" as const);
  const machines = fc.array(phases, { maxLength: 4 });
  fc.assert(
    fc.property(configs, machines, fc.array(wanted, { maxLength: 40 }), fc.nat(3), (config, of, all, on) => {
      const workers = of.map((phase, n) => workerRow(`w${n + 1}`, phase));
      const running = workers.slice(0, on).map(({ worker }, n) => placed(`on${n}`, worker, vcpus(3)));
      const queue = all.map(({ array, ...more }, n) =>
        waiting(`r${n}`, { ...more, ...(array && { array: { ...array, index: n, size: all.length } }) }),
      );
      const decide = (rows: RunRow[]) => {
        const { places, creates, waits, reserved } = plan(
          configured(config, [...running, ...rows], workers),
          T0,
        );
        return { places: places.map(({ run, worker }) => [run.run, worker]), creates, waits, reserved };
      };
      expect(decide(queue)).toEqual(decide(queue.map(unlike)));
    }),
    { numRuns: 500 },
  );
});

test("runs are alike if they differ in nothing but their names and their places in the queue", () => {
  const run = waiting("a");
  expect(likenessOf(waiting("b", { priority: 1, submittedAt: T0 + 1 }))).toBe(likenessOf(run));
  expect(likenessOf(waiting("c", vcpus(2)))).not.toBe(likenessOf(run));
});

test.each<[string, Partial<RunRow>]>([
  ["avoids machines", { avoid: ["w1"] }],
  ["prefers a machine", { prefer: "w1" }],
  ["replaces others", { replace: "key" }],
  ["is replaced", { replacedBy: { run: "b", by: "admin" } }],
])("a run that %s is like no other", (_what, more) => {
  expect(likenessOf({ ...waiting("a"), ...more })).toBeUndefined();
});
