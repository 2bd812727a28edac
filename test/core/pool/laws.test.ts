import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { mayUseGpus, offersOf } from "../../../src/core/pool/plan/eligible.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import { knownMemory } from "../../../src/core/pool/plan/seen/learned.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import { isOpen, type Learned, type RunRow, type WorkerRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import { accommodates, remaining } from "../../../src/core/resources.ts";
import { resourcesOfType } from "../../../src/core/spec.ts";
import type { Resources } from "../../../src/schema/common.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import {
  at,
  configured,
  hold,
  placeOf,
  pool,
  rowOf,
  run,
  T0,
  upsert,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";

const instanceTypes = {
  small: { vcpus: 2, memory: 1_000, price: 1 },
  large: { vcpus: 6, memory: 4_000, disk: 100, gpus: 1, price: 3 },
};
const need: fc.Arbitrary<Resources> = fc.record({
  vcpus: fc.oneof(fc.nat(6), fc.constantFrom(0.1, 0.2, 0.3, 0.5, 0.7, 1.5)),
  memoryBytes: fc.constantFrom(0, 300, 950, 3_800, 3_801),
  diskBytes: fc.constantFrom(0, 0, 60),
  gpus: fc.constantFrom(0, 0, 1),
});
const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
const workerNames = ["w1", "w2", "w3", "w4"];

const config: fc.Arbitrary<Partial<PoolConfigInput>> = fc.record({
  instanceTypes: fc.constant(instanceTypes),
  minInstances: fc.nat(3),
  maxInstances: fc.nat(6),
  maxRunsPerInstance: fc.nat(3),
  maxConcurrentCreates: fc.integer({ min: 1, max: 4 }),
});

const worker: fc.Arbitrary<WorkerRow> = fc
  .record({
    id: fc.constantFrom(...workerNames),
    phase: fc.constantFrom<WorkerRow["phase"]>("ready", "ready", "booting", "asked", "unknown", "shutdown"),
    type: fc.constantFrom<"small" | "large">("small", "large"),
    idleBehavior: fc.constantFrom<WorkerRow["idleBehavior"]>("run", "run", "run", "drain"),
    stopUntil: fc.constantFrom(0, 0, 0, T0 + 1),
    measured: fc.constantFrom<(number | undefined)[]>(undefined, undefined, 800, 2_000, 10_000),
  })
  .map(({ id, phase, type, measured, ...more }) => {
    return workerRow(id, phase, {
      instanceType: type,
      type: { disk: "0", gpus: 0, ...instanceTypes[type] },
      ...(measured === undefined ? {} : { measuredMemory: measured }),
      ...more,
    });
  });

const row: fc.Arbitrary<RunRow> = fc
  .record({
    id: fc.constantFrom(...names),
    resources: need,
    priority: fc.integer({ min: 1, max: 3 }),
    later: fc.nat(3),
  })
  .map(({ id, later, ...more }) => waiting(id, { ...more, submittedAt: T0 + later }));

const view = fc.record({
  config,
  workers: fc.uniqueArray(worker, { selector: (one) => one.worker, maxLength: 4 }),
  runs: fc.uniqueArray(row, { selector: (one) => one.run, maxLength: 8 }),
  held: fc.boolean(),
  learned: fc.constantFrom<Learned[]>({}, {}, { small: 800 }, { small: 299, large: 2_000 }),
});
type View = typeof view extends fc.Arbitrary<infer T> ? T : never;

function stateOf({ config: more, workers, runs, held, learned }: View): Configured {
  const state = configured(more, runs, workers);
  return { ...state, record: { ...state.record, learned, holds: held ? [hold(T0 + 1)] : [] } };
}

const total = (needs: Resources[], what: keyof Resources) =>
  needs.reduce((sum, one) => sum + Math.round(1_000 * one[what]), 0) / 1_000;

/** Whether all of these fit onto one machine together, without the order of packing. */
function fitTogether(type: Resources, needs: Resources[], measured = Number.POSITIVE_INFINITY): boolean {
  const shared = needs.some((one) => one.vcpus === 0) ? 1 : 0;
  return (
    total(needs, "vcpus") + shared <= type.vcpus &&
    total(needs, "memoryBytes") <= Math.min(type.memoryBytes * 0.95, measured) &&
    total(needs, "diskBytes") <= type.diskBytes &&
    total(needs, "gpus") <= type.gpus
  );
}

const always = (look: (state: Configured, of: View) => void) =>
  fc.assert(
    fc.property(view, (one) => look(stateOf(one), one)),
    { numRuns: 500 },
  );

describe("a plan", () => {
  test("is a function of the rows: the same view gives the same plan, in whatever order they lie", () => {
    always((state, one) => {
      const other = stateOf({ ...one, runs: [...one.runs].reverse(), workers: [...one.workers].reverse() });
      const said = (of: Configured) => {
        const { places, creates, waits } = plan(of, T0);
        return {
          places: places.map((place) => `${place.run.run}@${place.worker}`),
          creates,
          waits: [...waits].sort(),
        };
      };
      expect(said(state)).toEqual(said(state));
      expect(said(other)).toEqual(said(state));
    });
  });

  test("never places beyond what a worker has, or on one that takes no runs (invariant 9)", () => {
    always((state, { workers, config: { maxRunsPerInstance = 0 } }) => {
      const { places } = plan(state, T0);
      for (const on of workers) {
        const needs = places
          .filter((place) => place.worker === on.worker)
          .map((place) => place.run.resources);
        if (needs.length === 0) continue;
        expect([on.phase, on.idleBehavior, on.stopUntil]).toEqual(["ready", "run", 0]);
        expect(fitTogether(resourcesOfType(on.type), needs, on.measuredMemory ?? undefined)).toBe(true);
        if (maxRunsPerInstance > 0) expect(needs.length).toBeLessThanOrEqual(maxRunsPerInstance);
      }
    });
  });

  test("never asks for more than `maxInstances`, nor for more at once than it may (invariant 9)", () => {
    always((state, { workers, config: { maxInstances = 0, maxConcurrentCreates = 0 }, held }) => {
      const { creates } = plan(state, T0);
      const creating = workers.filter((one) => one.phase === "asked" || one.phase === "booting").length;
      expect(creates.length).toBeLessThanOrEqual(Math.max(0, maxInstances - workers.length));
      expect(creates.length).toBeLessThanOrEqual(Math.max(0, maxConcurrentCreates - creating));
      if (held) expect(creates).toEqual([]);
    });
  });

  test("asks for no machine for a run while one is there that it fits", () => {
    always((state, { workers, config: { minInstances = 0 } }) => {
      const { places, creates, waits } = plan(state, T0);
      if (minInstances > 0 || creates.length === 0) return;
      const left = workers
        .filter((one) => one.phase === "ready" && one.idleBehavior === "run" && one.stopUntil === 0)
        .map((one) => ({
          on: places.filter((place) => place.worker === one.worker).length,
          left: remaining(
            resourcesOfType(one.type),
            places.filter((place) => place.worker === one.worker).map((place) => place.run.resources),
            knownMemory(state.record, one),
          ),
        }));
      const slots = state.record.config.maxRunsPerInstance || Number.POSITIVE_INFINITY;
      for (const queued of state.runs.live()) {
        if (waits.get(queued.run)?.code !== "machine_asked") continue;
        expect(left.some((one) => one.on < slots && accommodates(one.left, queued.resources))).toBe(false);
      }
    });
  });

  test("uses free capacity at once: only a machine that is kept for a run before it has room for one", () => {
    always((state, { workers }) => {
      const { places, waits, reserved } = plan(state, T0);
      const slots = state.record.config.maxRunsPerInstance || Number.POSITIVE_INFINITY;
      for (const on of workers) {
        if (on.phase !== "ready" || on.idleBehavior !== "run" || on.stopUntil > T0) continue;
        if (on.worker === reserved?.worker) continue;
        const needs = places
          .filter((place) => place.worker === on.worker)
          .map((place) => place.run.resources);
        const left = remaining(resourcesOfType(on.type), needs, knownMemory(state.record, on));
        for (const one of state.runs.live()) {
          const kept = on.type.gpus > 0 && !mayUseGpus(state.record.config, one, offersOf(state.record));
          const free = needs.length < slots && accommodates(left, one.resources) && !kept;
          if (waits.has(one.run)) expect(free).toBe(false);
        }
      }
    });
  });

  test("leaves no run without a place or a reason (invariant 5)", () => {
    always((state, { runs }) => {
      const { places, waits } = plan(state, T0);
      const placed = places.map((place) => place.run.run);
      for (const one of runs) {
        expect(placed.includes(one.run)).toBe(!waits.has(one.run));
        if (!placed.includes(one.run)) expect(explainRun(state, one.run, T0)?.reason.text).not.toBe("");
      }
    });
  });

  test("lets no run overtake one of the same needs that comes before it in the queue", () => {
    always((state, { runs }) => {
      const placed = new Set(plan(state, T0).places.map((place) => place.run.run));
      const before = (a: RunRow, b: RunRow) =>
        a.priority > b.priority || (a.priority === b.priority && a.submittedAt < b.submittedAt);
      for (const late of runs.filter((one) => placed.has(one.run))) {
        const skipped = runs.filter((one) => !placed.has(one.run) && before(one, late));
        for (const one of skipped) expect(one.resources).not.toEqual(late.resources);
      }
    });
  });
});

const step: fc.Arbitrary<PoolEvent> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({
        id: fc.constantFrom(...names),
        version: fc.integer({ min: 1, max: 5 }),
        ended: fc.nat(2),
        wants: fc.constantFrom("place", "nothing"),
      })
      .map(({ id, version, ended, wants }) =>
        run(id, {
          version,
          ended: Math.min(ended, version - 1),
          wants,
          // What a run needs is said once: no version of it changes that.
          resources: { vcpus: names.indexOf(id) % 3, memoryBytes: 300, diskBytes: 0, gpus: 0 },
        }),
      ),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({
        n: fc.integer({ min: 1, max: 6 }),
        version: fc.integer({ min: 1, max: 5 }),
        phase: fc.constantFrom("booting", "ready", "ready", "unknown", "shutdown", "gone"),
        wantsStop: fc.boolean(),
        bootOutcome: fc.constantFrom("success" as const, null),
      })
      // Of every other machine nothing is known; the others have room for two runs, of the three of a type.
      .map(({ n, ...more }) =>
        workerSays(`default-s-${n}`, n % 2 === 0 ? more : { ...more, measuredMemory: 700 }),
      ),
  },
  fc.constant<PoolEvent>({ type: "tick" }),
  fc.record({ id: fc.constantFrom(...names), known: fc.boolean() }).map(({ id, known }) => ({
    type: "place_answered" as const,
    sent: placeOf(id),
    answer: known ? { kind: "run" as const, run: upsert(id, { epoch: 1 }) } : { kind: "no_such" as const },
  })),
  fc.record({ ms: fc.nat(1_000) }).map(({ ms }) => ({
    type: "listed" as const,
    consistencyMs: 0,
    answer: { kind: "listed" as const, beganAt: T0 + ms, items: [] },
  })),
);

function play(
  more: Partial<PoolConfigInput>,
  steps: [PoolEvent, number][],
  look: (state: Configured, now: number) => void,
): void {
  let state: Configured = configured(more);
  let now = T0;
  for (const [event, ms] of steps) {
    now += ms;
    state = at(state, now, event);
    look(state, now);
  }
}

const stories = fc.array(fc.tuple(step, fc.nat(20_000)), { maxLength: 40 });

/** `gone`: the workers that were taken for gone at any moment of the story. */
type Look = (state: Configured, now: number, of: Partial<PoolConfigInput>, gone: Set<string>) => void;

const holds = (look: Look) =>
  fc.assert(
    fc.property(config, stories, (more, steps) => {
      const gone = new Set<string>();
      play(more, steps, (state, now) => {
        for (let n = 1; n < state.record.nextWorker; n += 1) {
          const row = state.workers.get(`default-${state.record.seed}-${n}`);
          if (row?.phase === "gone") gone.add(row.worker);
        }
        look(state, now, more, gone);
      });
    }),
    { numRuns: 300 },
  );

describe("whatever happens, in whatever order", () => {
  test("a run has at most one epoch open, each above the one before (R2, cases.md#case-22)", () => {
    fc.assert(
      fc.property(config, stories, (more, steps) => {
        const highest = new Map<string, number>();
        play(more, steps, (state) => {
          for (const { run: id, opened, ended } of state.runs.live()) {
            expect(opened - ended).toBeLessThanOrEqual(1);
            expect(opened).toBeGreaterThanOrEqual(highest.get(id) ?? 0);
            highest.set(id, opened);
          }
        });
      }),
    );
  });

  test("there are never more machines than `maxInstances`, nor more on one than fits (invariant 9)", () => {
    holds((state, _now, { maxInstances = 0, maxRunsPerInstance = 0 }, gone) => {
      const workers = [...state.workers.live()];
      // One that was taken for gone and came back is to be destroyed: it was not created beyond the bound.
      const kept = workers.filter(({ worker }) => !gone.has(worker));
      expect(kept.length).toBeLessThanOrEqual(maxInstances);
      for (const one of workers) {
        const needs = [...state.runs.live()]
          .filter((live) => isOpen(live) && live.worker === one.worker)
          .map((live) => live.resources);
        if (maxRunsPerInstance > 0) expect(needs.length).toBeLessThanOrEqual(maxRunsPerInstance);
        const fit = fitTogether(resourcesOfType(one.type), needs, one.measuredMemory ?? undefined);
        expect(fit || needs.length === 0).toBe(true);
      }
    });
  });

  test("a machine's name is never used twice (invariant 3, cases.md#case-22)", () => {
    holds((state) => {
      const numbers = [...state.workers.live()].map((one) => Number(one.worker.split("-").at(-1)));
      expect(Math.max(0, ...numbers)).toBeLessThan(state.record.nextWorker);
      expect(new Set(numbers).size).toBe(numbers.length);
    });
  });

  test("a restart in between changes nothing of what is decided (shell.md#machine)", () => {
    holds((state, now) => {
      const again = pool(state.record, [...state.runs.live()], [...state.workers.live()]);
      if (again.record === null) return;
      const after = plan({ ...again, record: again.record }, now);
      expect(after.places).toEqual([]);
      expect(after.creates).toEqual(plan(state, now).creates);
    });
  });

  test("what is decided is decided: a tick at that moment changes nothing (shell.md#machine)", () => {
    holds((state, now) => {
      const rows = () => [[...state.runs.live()], [...state.workers.live()], state.record];
      const before = rows();
      expect(poolMachine.apply(state, { type: "tick" }, now).record).toBe(state.record);
      expect(rows()).toEqual(before);
    });
  });

  test("an epoch that has ended was opened, as far as the pool will ever say (R1)", () => {
    holds((state) => {
      for (const name of names) {
        const found = rowOf(state, name);
        if (found !== undefined) expect(found.ended).toBeLessThanOrEqual(found.opened);
      }
    });
  });
});
