import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { plan, planOneMore } from "../../../src/core/pool/plan/plan.ts";
import { isOpen, runKey } from "../../../src/core/pool/record.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import { CONCURRENCY_STRATEGIES } from "../../../src/shared/limits.ts";
import {
  at,
  type configured as Configured,
  configured,
  createsOf,
  placed,
  reloaded,
  run,
  T0,
  vcpus,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";

type State = ReturnType<typeof Configured>;

/** One step of a story, whatever has happened before; `nth`: so that no run is submitted twice. */
type Step = (state: State, nth: number) => PoolEvent;

const arrival: fc.Arbitrary<Step> = fc
  .record({
    later: fc.nat(7),
    priority: fc.integer({ min: 1, max: 3 }),
    vcpus: fc.nat(5),
    memoryBytes: fc.constantFrom(0, 300, 900),
    avoid: fc.constantFrom<string[]>([], ["default-s-1"], ["w1", "w2"]),
    project: fc.constantFrom("default", "default", "ml"),
    budget: fc.constantFrom(null, null, { payer: "t", perHour: 0.6 }),
    concurrency: fc.option(
      fc.record({
        key: fc.constantFrom("k", "l"),
        limit: fc.integer({ min: 1, max: 2 }),
        strategy: fc.constantFrom(...CONCURRENCY_STRATEGIES),
      }),
      { nil: undefined, freq: 2 },
    ),
  })
  .map(({ later, vcpus: count, memoryBytes, concurrency, ...more }) => (_state, nth) => {
    const resources = { vcpus: count, memoryBytes, diskBytes: 0, gpus: 0 };
    const said = { ...more, ...(concurrency && { concurrency }) };
    return run(`r${nth}`, { ...said, resources, submittedAt: T0 + later });
  });

const ending: fc.Arbitrary<Step> = fc
  .record({ which: fc.nat(40), again: fc.boolean() })
  .map(({ which, again }) => (state) => {
    const open = [...state.runs.live()].filter(isOpen);
    const row = open[which % Math.max(1, open.length)];
    if (row === undefined) return { type: "tick" };
    const { opened, worker: _worker, heardAt: _heardAt, ...upsert } = row;
    const wants = again ? "place" : "nothing";
    const next = again ? "pending" : "complete";
    return {
      type: "run",
      body: { ...upsert, state: next, version: row.version + 1, epoch: opened, ended: opened, wants },
    };
  });

const aborted: fc.Arbitrary<Step> = fc.nat(40).map((n) => (state) => {
  const row = state.memo.index.queue[n % Math.max(1, state.memo.index.queue.length)];
  if (row === undefined) return { type: "tick" };
  const { opened: _opened, worker: _worker, heardAt: _heardAt, ...upsert } = row;
  return { type: "run", body: { ...upsert, state: "aborted", version: row.version + 1, wants: "nothing" } };
});

const change: fc.Arbitrary<Step> = fc
  .record({
    n: fc.integer({ min: 1, max: 5 }),
    version: fc.integer({ min: 2, max: 6 }),
    phase: fc.constantFrom("booting", "ready", "ready", "ready", "unknown", "gone"),
    wantsStop: fc.boolean(),
  })
  .map(
    ({ n, ...more }) =>
      () =>
        workerSays(n < 4 ? `default-s-${n}` : `w${n - 3}`, more),
  );

const step = fc.oneof(
  { weight: 8, arbitrary: arrival },
  { weight: 4, arbitrary: ending },
  { weight: 1, arbitrary: aborted },
  { weight: 2, arbitrary: change },
);
const steps = fc.array(fc.tuple(step, fc.constantFrom(0, 0, 1, 900, 9_000)), { maxLength: 60 });
const machines: fc.Arbitrary<Partial<PoolConfigInput>> = fc.record({
  minInstances: fc.nat(2),
  maxInstances: fc.nat(5),
  maxRunsPerInstance: fc.constantFrom(0, 2),
  maxConcurrentCreates: fc.integer({ min: 1, max: 3 }),
});
const projects = fc.constantFrom<Partial<PoolConfigInput>>(
  {},
  { projects: { default: {}, ml: {} } },
  { projects: { default: {}, ml: {} }, shareMachines: true },
  { projects: { default: { maxRuns: 3 }, ml: { maxInstances: 1 } } },
  { projects: { default: { maxCostPerHour: 2 }, ml: { maxRuns: 1 } } },
  { projects: { default: { maxCostPerHour: 0.6 }, ml: {} }, shareMachines: true },
);

const rowsOf = (state: State) => ({
  runs: new Map([...state.runs.live()].map((row) => [row.run, [row.opened, row.worker]])),
  // Not their numbers: one that was loaded has forgotten those of rows that are gone.
  workers: [...state.workers.live()].map(({ number: _number, ...row }) => row),
  // Nor what has happened to those.
  record: { ...state.record, tally: undefined },
});

/** Plays each step in a pool that remembers, and in one that has just been loaded. */
function compare(look: (kept: State, fresh: State) => void): void {
  fc.assert(
    fc.property(machines, projects, steps, (some, others, story) => {
      let state = configured({ ...some, ...others }, [], [workerRow("w1"), workerRow("w2", "booting")]);
      let now = T0;
      for (const [nth, [make, ms]] of story.entries()) {
        now += ms;
        const event = make(state, nth);
        const fresh = at(reloaded(state), now, event);
        state = at(state, now, event);
        look(state, fresh);
      }
    }),
    { numRuns: 300 },
  );
}

describe("what is remembered between events changes nothing but the time that they take", () => {
  test("a pool that remembers its latest plan decides what one does that makes it anew", () => {
    compare((kept, fresh) => expect(rowsOf(kept)).toEqual(rowsOf(fresh)));
  });

  test("the index of runs is what it would be if it were made from the rows now", () => {
    compare((kept) => {
      const { index } = kept.memo;
      const anew = reloaded(kept).memo.index;
      expect(index.queue).toEqual(anew.queue);
      expect(index.kinds.count).toBe(anew.kinds.count);
      expect(index.unwanted).toEqual(anew.unwanted);
      const sets = (of: typeof index) =>
        new Map([...of.placed].map(([on, runs]) => [on, new Set(runs.keys())]));
      expect(sets(index)).toEqual(sets(anew));
    });
  });
});

describe("one more run is decided alone", () => {
  const full = () => {
    const on = [placed("x", "w1", vcpus(2)), placed("y", "w2", vcpus(3))];
    const workers = [workerRow("w1"), workerRow("w2")];
    return configured({ maxInstances: 2 }, [...on, waiting("a", vcpus(4))], workers);
  };

  test.each<[string, ReturnType<typeof waiting>, string[] | undefined]>([
    ["behind the last one that was promised room", waiting("b", { submittedAt: T0 + 1 }), ["b@w2"]],
    ["but not before it", waiting("b", { priority: 99 }), undefined],
  ])("%s", (_what, more, places) => {
    // What "a" was promised is w1, which is kept for it.
    const decided = planOneMore(plan(full(), T0).pass, more);
    expect(decided?.places.map((place) => `${place.run.run}@${place.worker}`)).toEqual(places);
  });

  test("and not after a plan that asked for machines: others may count on them", () => {
    const { pass, creates } = plan(configured({}, [waiting("a")]), T0);
    expect(createsOf({ creates })).toEqual(["small"]);
    expect(planOneMore(pass, waiting("b", { submittedAt: T0 + 1 }))).toBeUndefined();
  });

  const key = (strategy: "queue" | "round-robin", name = "k") => ({
    concurrency: { key: name, limit: 1, strategy },
  });
  const small = { ...vcpus(0), submittedAt: T0 + 1 };

  test("and not before one that keeps a slot of its key (pool.md#concurrency-keys)", () => {
    const first = waiting("first", { ...vcpus(4), priority: 99 });
    const made = workerRow("w1", "booting", { instance: null });
    const big = waiting("big", { ...vcpus(4), ...key("queue") });
    const { pass, waits } = plan(configured({ maxConcurrentCreates: 1 }, [first, big], [made]), T0);
    expect([...waits].map(([run, { code }]) => `${run} ${code}`)).toEqual([
      "first machine_booting",
      "big machine_asked",
    ]);
    const urgent = waiting("urgent", { ...small, ...key("queue"), priority: 60 });
    expect(planOneMore(pass, urgent)).toBeUndefined();
  });

  test("and not where keys take turns, unless its key has no slot for it (pool.md#round-robin)", () => {
    const turns = (id: string, turn: number, more: object) => ({ ...waiting(id, more), turn });
    const a = { ...vcpus(4), concurrency: { ...key("round-robin", "a").concurrency, limit: 9 } };
    const rows = [placed("x", "w1", vcpus(3)), turns("a1", 1, a), turns("a2", 2, a)];
    const workers = [workerRow("w1"), workerRow("w2", "booting")];
    const b = turns("b", 3, { ...small, ...key("round-robin", "b") });
    const together = plan(configured({ maxInstances: 0 }, [...rows, b], workers), T0);
    expect(together.places.map((place) => place.run.run)).toEqual(["b"]);
    const { pass } = plan(configured({ maxInstances: 0 }, rows, workers), T0);
    expect(planOneMore(pass, b)).toBeUndefined();
    const holder = placed("y", "w1", { ...vcpus(0), ...key("queue", "b") });
    const full = plan(configured({ maxInstances: 0 }, [holder, ...rows], workers), T0);
    expect(planOneMore(full.pass, b)?.waits.get("b")).toMatchObject({ code: "concurrency_key" });
  });

  test("what changes nothing makes no plan: a run says that it has begun", () => {
    const state = at(full(), T0, { type: "tick" });
    const { pass } = state.memo.latest;
    const begun = run("x", { version: 2, state: "running", epoch: 1, ...vcpus(2) });
    expect(poolMachine.apply(state, begun, T0 + 1).memo.latest.pass).toBe(pass);
    expect(state.runs.get(runKey(T0, "x"))?.state).toBe("running");
  });
});
