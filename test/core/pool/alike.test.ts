import fc from "fast-check";
import { describe, expect, test } from "vitest";
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
  concurrency: fc.constantFrom(
    undefined,
    undefined,
    { key: "k", limit: 1, strategy: "queue" as const },
    { key: "k", limit: 2, strategy: "queue" as const },
    { key: "l", limit: 2, strategy: "round-robin" as const },
  ),
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
      const queue = all.map(({ array, concurrency, ...more }, n) =>
        waiting(`r${n}`, {
          ...more,
          ...(concurrency && { concurrency }),
          ...(array && { array: { ...array, index: n, size: all.length } }),
        }),
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

describe("a plan looks at no more of a long queue than it must (pool.md#alike)", () => {
  const LENGTH = 1_000;
  const A_FEW = 10;

  /** How many runs a plan has looked at, in a pool with one full machine and no others to come. */
  function looksAt(more: (n: number) => Partial<RunRow>, config: Partial<PoolConfigInput> = {}): number {
    const runs = Array.from({ length: LENGTH }, (_, n) => waiting(`r${String(n).padStart(4, "0")}`, more(n)));
    const rows = [placed("on", "w1", vcpus(4)), ...runs];
    const state = configured({ maxInstances: 0, ...config }, rows, [workerRow("w1")]);
    let looks = 0;
    for (const row of state.memo.index.queue) {
      const { submittedAt } = row;
      Object.defineProperty(row, "submittedAt", {
        get() {
          looks += 1;
          return submittedAt;
        },
      });
    }
    expect(plan(state, T0).waits.size).toBe(LENGTH);
    return looks;
  }

  test.each<[string, number, (n: number) => Partial<RunRow>]>([
    ["all alike", 0, () => ({})],
    ["of three kinds, one after the other", 0, (n) => vcpus(1 + (n % 3))],
    ["of two kinds, the second at the end", LENGTH, (n) => vcpus(n === LENGTH - 1 ? 2 : 1)],
    ["one of which is like no other", LENGTH, (n) => (n === 500 ? { avoid: ["w9"] } : {})],
  ])("%s", (_what, most, more) => {
    const looks = looksAt(more);
    expect(looks).toBeLessThanOrEqual(most + A_FEW);
    if (most === LENGTH) expect(looks).toBeGreaterThan(LENGTH / 2);
  });

  test("all, where those that have waited for long may have other machines", () => {
    const type = { vcpus: 4, memory: "8GiB", price: 0.1, preemptible: true, fallback: {} };
    expect(looksAt(() => ({}), { instanceTypes: { spot: type } })).toBeGreaterThanOrEqual(LENGTH);
  });
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
