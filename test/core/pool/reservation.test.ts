import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import { isOpen, type RunRow } from "../../../src/core/pool/record.ts";
import {
  at,
  type configured as Configured,
  configured,
  placed,
  placesOf,
  run,
  T0,
  upsert,
  vcpus,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";

const WORKERS = ["w1", "w2", "w3"].map((name) => workerRow(name));
const FULL = { maxInstances: 3 };
const big = (more: Partial<RunRow> = {}): RunRow => ({
  ...waiting("big", { priority: 99, ...vcpus(4) }),
  ...more,
});
const reserved = (...args: Parameters<typeof Configured>) => plan(configured(...args), T0).reserved;

describe("the first run that nothing has room for has a machine reserved (decisions/pool.md#d20)", () => {
  const on = [placed("a", "w1"), placed("b", "w1"), placed("c", "w2"), placed("d", "w3"), placed("e", "w3")];

  test("the one with the fewest runs to wait for", () => {
    expect(reserved(FULL, [...on, big()], WORKERS)).toEqual({ run: "big", worker: "w2" });
  });

  test("nothing behind it is placed there, however well it would fit", () => {
    expect(placesOf(configured(FULL, [...on, big(), waiting("x"), waiting("y")], WORKERS))).toEqual([
      "x@w1",
      "y@w1",
    ]);
    const alone = configured(
      { maxInstances: 1 },
      [placed("c", "w2"), big(), waiting("x")],
      [workerRow("w2")],
    );
    expect(placesOf(alone)).toEqual([]);
  });

  test("what comes before it in the queue is", () => {
    const first = waiting("x", { priority: 100, ...vcpus(3) });
    expect(placesOf(configured(FULL, [...on, big(), first], WORKERS))).toEqual(["x@w2"]);
  });

  test("only for the first one, and not for one that no machine could ever hold", () => {
    const never = waiting("never", { priority: 100, ...vcpus(5) });
    const second = waiting("second", { priority: 98, ...vcpus(4) });
    expect(reserved(FULL, [...on, never, big(), second], WORKERS)?.run).toBe("big");
    expect(reserved(FULL, [...on, never], WORKERS)).toBeNull();
  });

  test.each<[string, Parameters<typeof Configured>[0]]>([
    ["a machine may be asked for", { maxInstances: 4 }],
    ["creates are under way, and its turn comes after those", { maxInstances: 9, maxConcurrentCreates: 1 }],
  ])("not while %s", (_what, config) => {
    const creating = config?.maxConcurrentCreates === 1 ? [workerRow("w0", "asked")] : [];
    const coming = creating.map((row) => placed("before", row.worker, vcpus(4)));
    expect(reserved(config, [...on, ...coming, big()], [...WORKERS, ...creating])).toBeNull();
  });

  test("never a machine that takes no runs", () => {
    const workers = [
      workerRow("w1", "ready", { idleBehavior: "drain" }),
      workerRow("w2", "unknown"),
      workerRow("w3"),
    ];
    const runs = [placed("d", "w3"), placed("e", "w3"), big()];
    expect(reserved(FULL, runs, workers)).toEqual({ run: "big", worker: "w3" });
  });

  test("both say so: the one that it is for, and the one that it is kept from (invariant 5)", () => {
    const state = configured(
      { maxInstances: 1 },
      [placed("c", "w1"), big(), waiting("x")],
      [workerRow("w1")],
    );
    const why = explainRun(state, "big", T0);
    expect(why?.reason.text).toContain("worker w1 takes no other runs, since it is reserved for this run");
    expect(why?.chain).toEqual([{ what: "worker w1", state: "running", text: "" }]);
    const other = "it is reserved for a run that comes first";
    expect(explainRun(state, "x", T0)?.reason.text).toContain(other);
  });

  test("a worker that is kept for a run does not stop (decisions/pool.md#longest-idle-first)", () => {
    const paused = workerRow("w1", "ready", { pausedUntil: T0 + 1, refusals: 1 });
    const state = at(configured({}, [waiting("a")], [paused]), T0, { type: "tick" });
    expect(plan(state, T0).places).toEqual([]);
    const asked = at(state, T0, workerSays("w1", { wantsStop: true }));
    expect(asked.workers.get("w1")?.stopUntil).toBe(0);
  });
});

// decisions/pool.md#d20
describe("a run that only another type holds, while there are as many machines as may be", () => {
  const large = { vcpus: 8, memory: "1GiB", price: 2 };
  const small = { vcpus: 4, memory: "1GiB", price: 1 };
  const config = { maxInstances: 2, minInstances: 2, instanceTypes: { small, large } };
  const needy = waiting("needy", { priority: 99, ...vcpus(8) });
  const workers = [workerRow("w1"), workerRow("w2")];
  const stops = (state: ReturnType<typeof configured>, worker: string) =>
    (at(state, T0, workerSays(worker, { wantsStop: true })).workers.get(worker)?.stopUntil ?? 0) > T0;

  test("the least used machine takes nothing from behind it, and others do", () => {
    const rows = [placed("a", "w1"), placed("b", "w1"), placed("c", "w2"), needy, waiting("x"), waiting("y")];
    const state = configured(config, rows, workers);
    expect(plan(state, T0).reserved).toEqual({ run: "needy", worker: "w2", evict: true });
    expect(placesOf(state)).toEqual(["x@w1", "y@w1"]);
    const why = "worker w2 takes no other runs, and ends when it is idle, to make room for";
    expect(explainRun(state, "needy", T0)?.reason.text).toContain(`${why} this run`);
    const waits = configured(config, [...rows, waiting("z")], workers);
    expect(explainRun(waits, "z", T0)?.reason.text).toContain(`${why} a run that comes first`);
  });

  test("what comes before it in the queue is placed there", () => {
    const first = waiting("first", { priority: 100 });
    expect(placesOf(configured(config, [placed("a", "w1"), needy, first], workers))).toEqual(["first@w1"]);
    const before = waiting("before", { priority: 100, ...vcpus(4) });
    expect(placesOf(configured(config, [placed("a", "w1"), needy, before], workers))).toEqual(["before@w2"]);
  });

  test("idle, it may stop, though it be one of the minimum; then the other type is asked for", () => {
    const state = configured(config, [needy], workers);
    expect(stops(configured(config, [needy], workers), "w2")).toBe(false);
    expect([stops(state, "w1"), stops(state, "w2")]).toEqual([true, false]);
    const gone = at(state, T0, workerSays("w1", { phase: "gone" }), { type: "tick" });
    expect([...gone.workers.live()].map(({ instanceType }) => instanceType)).toContain("large");
  });

  test("a self-hosted machine makes no room, nor does any if no type would hold the run", () => {
    const own = workerRow("w0", "ready", { kind: "self-hosted" });
    expect(plan(configured(config, [needy], [own, ...workers]), T0).reserved?.worker).toBe("w1");
    const never = waiting("never", vcpus(9));
    const state = configured(config, [never], workers);
    expect([plan(state, T0).reserved, stops(state, "w1")]).toEqual([null, false]);
  });
});

/** Ends a run: its allocation says that the epoch is over, and that it wants no other. */
const ended = (row: RunRow) =>
  run(row.run, { ...upsert(row.run), state: "complete", wants: "nothing", version: 9, ended: row.opened });

/** No run of the story takes more steps than this. */
const LONGEST = 15;

// decisions/pool.md#d20
test("no run starves: small ones keep coming, and a big one is placed within a bound", () => {
  // Each machine that is reserved has fewer runs to wait for than the one before: at most four times LONGEST.
  const story = fc.array(fc.record({ end: fc.nat(99), arrivals: fc.nat(3) }), {
    minLength: 4 * LONGEST,
    maxLength: 4 * LONGEST,
  });
  fc.assert(
    fc.property(story, (steps) => {
      const smalls = Array.from({ length: 12 }, (_, n) => placed(`s${n}`, `w${1 + (n % 3)}`));
      let state = at(configured(FULL, [...smalls, big()], WORKERS), T0, { type: "tick" });
      const since = new Map<string, number>();
      for (const [step, { end, arrivals }] of steps.entries()) {
        const more = Array.from({ length: arrivals + 1 }, (_, n) => run(`t${step}-${n}`));
        state = at(state, T0, ...more);
        const running = [...state.runs.live()].filter(isOpen);
        if (running.some((row) => row.run === "big")) return;
        for (const [n, row] of running.entries()) {
          if (!since.has(row.run)) since.set(row.run, step);
          const over = step - (since.get(row.run) ?? step) >= LONGEST;
          if (over || n === end % running.length) state = at(state, T0, ended(row));
        }
      }
      expect.fail("the big one was never placed");
    }),
    { numRuns: 50 },
  );
});
