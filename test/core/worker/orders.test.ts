import { describe, expect, test } from "vitest";
import { ordersFor } from "../../../src/core/worker/host/report.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { answerOrder } from "../../../src/core/worker/placements.ts";
import {
  type ExistingWorker,
  livePlacements,
  ordersRevision,
  undeliveredPlacements,
} from "../../../src/core/worker/state.ts";
import { REMEMBER_ENDED_MS } from "../../../src/shared/limits.ts";
import {
  at,
  attemptOf,
  created,
  exitedOf,
  holding,
  intent,
  LEASE,
  MINUTE,
  nothing,
  observedAnswer,
  order,
  orderIs,
  ready,
  reloaded,
  report,
  stopOf,
  T0,
  TASK,
} from "../support/worker.ts";

const REFUSED = { kind: "ended", how: "refused", held: false };
const ids = (state: ExistingWorker, now = T0) =>
  ordersFor(state, 1, now).attempts.map(({ id, want }) => `${want} ${id}`);
const answer = (state: ExistingWorker, run: string, more = {}) => answerOrder(state, order(run, more).body);
const vcpus = (count: number) => ({ resources: { ...TASK.resources, vcpus: count } });
const settings = (more: Partial<ReturnType<typeof intent>["settings"]>) => ({
  settings: { ...intent().settings, ...more },
});

describe("an order that is accepted is what the host is told (messages.md)", () => {
  test("it is a placement, and moves the revision of the orders", () => {
    const before = ready();
    const state = at(before, T0, order("a"));
    expect(answer(state, "a")).toEqual({ kind: "accepted", revision: 1 });
    expect(ids(state)).toEqual([`run ${attemptOf("a")}`]);
    expect(ordersRevision(state)).toBe(ordersRevision(before) + 1);
  });

  test("a higher revision replaces it, an equal or lower one says nothing", () => {
    const stop = order("a", { revision: 2, attempts: stopOf("a") });
    const state = at(holding(["a"]), T0, stop);
    expect(ids(state)).toEqual([`stop ${attemptOf("a")}`]);
    expect(answer(state, "a")).toEqual({ kind: "accepted", revision: 2 });
    for (const late of [order("a"), order("a", { revision: 2 })]) {
      const next = at(state, T0, late);
      expect(ids(next)).toEqual([`stop ${attemptOf("a")}`]);
      expect(ordersRevision(next)).toBe(ordersRevision(state));
    }
  });

  test("it survives a restart of the object", () => {
    const state = reloaded(holding(["a"]));
    expect(ids(state)).toEqual([`run ${attemptOf("a")}`]);
    expect(answer(state, "a")).toEqual({ kind: "accepted", revision: 1 });
  });

  test("what this worker has never heard of, it does not know (R6)", () => {
    expect(answer(ready(), "a")).toEqual({ kind: "no_such" });
    expect(answerOrder(nothing(), order("a").body)).toEqual({ kind: "no_such" });
  });
});

test.each([
  ["1h, if the pool says nothing", {}, 3_600_000],
  ["what the pool says", { maxKillMs: 7_000 }, 7_000],
])("a stop takes at most %s, by an order and by the task's own (tasks.md#kill-6)", (_, more, maxMs) => {
  const state = at(ready(T0, settings(more)), T0, order("a"));
  const stopIn = (timeoutMs: number) => stopOf("a").map((stop) => ({ ...stop, timeoutMs }));
  const attempts = (killTimeoutMs: number) => [
    { id: attemptOf("b"), want: "run" as const, task: { ...TASK, killTimeoutMs } },
  ];
  for (const [asked, granted] of [
    [maxMs - 1, maxMs - 1],
    [maxMs, maxMs],
    [maxMs + 1, maxMs],
  ] as const) {
    const told = at(
      state,
      T0,
      order("a", { revision: 2, attempts: stopIn(asked) }),
      order("b", { attempts: attempts(asked) }),
    );
    expect(ordersFor(told, 1, T0).attempts).toMatchObject([
      { timeoutMs: granted },
      { task: { killTimeoutMs: granted } },
    ]);
  }
});

describe("a worker refuses what it cannot have begun by the next report", () => {
  const enrolled: WorkerEvent = { type: "enroll", secret: "s", bootId: "b" };
  const booting = at(nothing(), T0, { type: "create", body: intent() }, created, enrolled);
  const behavior = (to: "hold" | "drain"): WorkerEvent => ({ type: "behavior", behavior: to, by: "ann" });

  test.each<[string, ExistingWorker, number, object]>([
    ["it boots", booting, 0, {}],
    ["it is being destroyed", at(ready(), T0, { type: "kill", reason: "", by: "ann" }), 0, {}],
    ["an operator holds it", at(ready(), T0, behavior("hold")), 0, {}],
    ["it is drained, and still has a run", at(holding(["z"]), T0, behavior("drain")), 0, {}],
    ["it has no attempt to run", ready(), 0, { attempts: stopOf("a") }],
    ["there is nothing in it", ready(), 0, { attempts: [] }],
    ["its host has been silent for more than three intervals", ready(), 30_001, {}],
    ["its lease is over", ready(T0, settings({ probeIntervalMs: LEASE, probeMs: 4 * LEASE })), LEASE, {}],
    ["it is full", ready(), 0, vcpus(5)],
    ["it is full beside the others", holding(["x", "y", "z"]), 0, vcpus(2)],
    ["it has as many runs as it may have", at(ready(T0, settings({ maxRuns: 1 })), T0, order("z")), 0, {}],
  ])("because %s", (_what, before, ms, more) => {
    const state = at(before, T0 + ms, order("a", more));
    expect(answer(state, "a", more)).toEqual(REFUSED);
    expect(livePlacements(state).map(({ run }) => run)).not.toContain("a");
  });

  test.each<[string, ExistingWorker, number, object]>([
    ["just within three intervals", ready(), 30_000, {}],
    [
      "just within its lease",
      ready(T0, settings({ probeIntervalMs: LEASE, probeMs: 4 * LEASE })),
      LEASE - 1,
      {},
    ],
    ["just within its size", ready(), 0, vcpus(4)],
    ["just within its size beside the others", holding(["x", "y", "z"]), 0, vcpus(1)],
    ["as the last that it may have", at(ready(T0, settings({ maxRuns: 2 })), T0, order("z")), 0, {}],
  ])("but not %s", (_what, before, ms, more) => {
    const state = at(before, T0 + ms, order("a", more));
    expect(answer(state, "a", more)).toMatchObject({ kind: "accepted" });
  });

  test("a change of a placement that it has is taken, drained or silent or full as it may be", () => {
    const drained = at(holding(["a"]), T0, behavior("drain"));
    const stop = order("a", { revision: 2, attempts: stopOf("a") });
    expect(ids(at(drained, T0 + 5 * MINUTE, stop))).toEqual([`stop ${attemptOf("a")}`]);
  });
});

describe("an ended placement is remembered for REMEMBER_ENDED_MS and never accepted again (R2)", () => {
  const refusedAt = T0 + 40_000;
  const refused = () => at(ready(), refusedAt, order("a"));
  const ended = (now = T0) => {
    const state = at(holding(["a"], now), now, report(2, { attempts: [exitedOf("a")] }));
    return at(state, now, observedAnswer(state, "a", now, orderIs(1, [])));
  };

  test("a refused one, though there would be room now", () => {
    expect(answer(refused(), "a")).toEqual(REFUSED);
    const state = at(at(refused(), refusedAt, report(2)), refusedAt, order("a", { revision: 2 }));
    expect(answer(state, "a")).toEqual(REFUSED);
    expect(answer(reloaded(state), "a")).toEqual(REFUSED);
  });

  test("one that its allocation has emptied", () => {
    const state = at(ended(), T0, order("a", { revision: 9 }));
    expect(answer(state, "a")).toEqual({ kind: "ended", how: "gone", held: true });
    expect(ids(state)).toEqual([]);
  });

  test("the next epoch of the same run is another placement", () => {
    const state = at(ended(), T0, order("a", { epoch: 2 }));
    expect(answer(state, "a", { epoch: 2 })).toEqual({ kind: "accepted", revision: 1 });
  });

  test.each([
    [REMEMBER_ENDED_MS - 1, "ended"],
    [REMEMBER_ENDED_MS, "no_such"],
  ])("after %d ms: %s", (ms, kind) => {
    expect(answer(at(ended(), T0 + ms, { type: "tick" }), "a").kind).toBe(kind);
  });

  test("one that its allocation has not been told of yet is kept for longer", () => {
    const lost = at(holding(["a"]), T0, { type: "join", id: "j", signedAt: T0, bootId: "boot-2" });
    expect(answer(at(lost, T0 + 2 * REMEMBER_ENDED_MS, { type: "tick" }), "a").kind).toBe("ended");
  });

  test("what is forgotten does not turn the revisions back", () => {
    const before = ended();
    const state = at(before, T0 + REMEMBER_ENDED_MS, { type: "tick" });
    expect(state.placements.get("a/1")).toBeUndefined();
    expect(ordersRevision(state)).toBe(ordersRevision(before));
    expect(ordersRevision(reloaded(state))).toBe(ordersRevision(before));
  });
});

describe("the revisions of the orders only grow (R1)", () => {
  test("each change is one", () => {
    const first = ready();
    const steps: WorkerEvent[] = [
      order("a"),
      { type: "orders_sent" },
      order("a", { revision: 2, attempts: stopOf("a") }),
      order("a", { revision: 2, attempts: stopOf("a") }),
      { type: "join", id: "j", signedAt: T0, bootId: "boot-2" },
    ];
    let state = first;
    const revisions = steps.map((event) => {
      state = at(state, T0, event);
      return ordersRevision(state) - ordersRevision(first);
    });
    expect(revisions).toEqual([1, 1, 2, 2, 3]);
  });

  test("a host that has seen a higher one is continued above it, and that is stored", () => {
    const state = at(ready(), T0, report(2, { ordersSeen: 41 }), order("a"));
    expect(ordersRevision(state)).toBe(42);
    expect(ordersRevision(reloaded(state))).toBe(42);
  });

  test("after `told` the host may hold what it was told, and only that", () => {
    const state = at(at(ready(), T0, order("a"), { type: "orders_sent" }), T0, order("b"));
    const untold = (of: ExistingWorker) => undeliveredPlacements(of).map(({ run }) => run);
    expect(untold(state)).toEqual(["b"]);
    expect(untold(reloaded(at(state, T0, order("c"))))).toEqual(["b", "c"]);
  });
});
