import { describe, expect, test } from "vitest";
import { type LastRuns, listedWorkers, queuePage } from "../../../src/core/pool/read/lists.ts";
import { explainRun, poolView, runsByWorker, workerSummary } from "../../../src/core/pool/read/views.ts";
import type { RunRow, WorkerRow } from "../../../src/core/pool/record.ts";
import type { QueuePlace } from "../../../src/core/pool/rows/run-index.ts";
import { runSummary } from "../../../src/core/run/run-summary.ts";
import { ListedWorker, PoolView, WorkerSummary } from "../../../src/schema/pool.ts";
import { RunSummary } from "../../../src/schema/run/run.ts";
import { Why } from "../../../src/schema/why.ts";
import {
  configured,
  held,
  hold,
  MINUTE,
  POOL,
  placed,
  T0,
  vcpus,
  waiting,
  workerRow,
} from "../support/pool.ts";

const iso = (ms: number) => new Date(T0 + ms).toISOString();

describe("a pool as it is read", () => {
  const state = () =>
    configured(
      {},
      [
        waiting("a", { submittedAt: T0 - 5_000, ...vcpus(4) }),
        waiting("b", vcpus(4)),
        placed("c", "w1", { state: "running" }),
        waiting("d", { state: "complete", wants: "nothing" }),
      ],
      [
        workerRow("w1"),
        workerRow("w2"),
        workerRow("w3", "asked"),
        workerRow("w4", "shutdown"),
        workerRow("w5", "gone"),
      ],
    );

  test("counts what there is, by rows (invariant 6)", () => {
    const view = poolView(state(), T0);
    expect(view).toMatchObject({
      name: "default",
      queue: { depth: 2, oldestAgeMs: 5_000 },
      runs: { pending: 2, running: 1 },
      workers: { running: 1, idle: 1, booting: 1, shutdown: 1 },
      holdOffs: [],
    });
    expect(PoolView.safeParse(view).error).toBeUndefined();
  });

  test("never shows the provider's secret", () => {
    const view = poolView(state(), T0);
    expect(view.config.provider).toEqual({ kind: "http", url: "http://cloud.test" });
  });

  test("says since when nothing is created, and why, while that lasts", () => {
    const blocked = held(state(), hold(T0 + MINUTE, { cause: "quota", tries: 3, reason: "8 of 8" }));
    const shown = { scope: "all", cause: "quota", until: iso(MINUTE), tries: 3, reason: "8 of 8" };
    expect(poolView(blocked, T0 + MINUTE - 1).holdOffs).toEqual([{ ...shown, trying: false }]);
    expect(poolView(blocked, T0 + MINUTE).holdOffs).toEqual([{ ...shown, trying: true }]);
  });

  test("has no oldest run when nobody waits", () => {
    expect(poolView(configured(), T0).queue).toEqual({ depth: 0, oldestAgeMs: null });
  });
});

// Each waiting run has a reason, a next step and, where there is one, a time (invariant 5).
describe("why a run waits", () => {
  test.each([
    [
      "a machine boots",
      configured({}, [waiting("a")], [workerRow("w1", "booting", { reason: "booting", instance: "i-1" })]),
      "machine_booting",
      null,
    ],
    ["a machine is asked for", configured({}, [waiting("a")]), "machine_asked", null],
    ["there may be none", configured({ maxInstances: 0 }, [waiting("a")]), "no_workers", null],
    [
      "there may be no more",
      configured({ maxInstances: 1 }, [placed("x", "w1", vcpus(4)), waiting("a")], [workerRow("w1")]),
      "max_instances",
      null,
    ],
    [
      "the latest machines failed",
      held(configured({}, [waiting("a")]), hold(T0 + MINUTE)),
      "hold_off",
      iso(MINUTE),
    ],
    ["its type was configured away", configured({}, [waiting("a", vcpus(5))]), "no_type", null],
  ])("%s", (_what, state, code, next) => {
    const why = explainRun(state, "a", T0);
    expect(why).toMatchObject({
      state: "pending",
      reason: { code, position: 1, queued: 1 },
      next: { at: next },
    });
    expect(why?.reason.text).not.toBe("");
    expect(Why.safeParse(why).error).toBeUndefined();
  });

  test("it names the machine that it counts on", () => {
    const state = configured(
      {},
      [waiting("a")],
      [workerRow("w1", "booting", { reason: "the image is pulled" })],
    );
    expect(explainRun(state, "a", T0)?.chain).toEqual([
      { what: "worker w1", state: "booting", text: "the image is pulled" },
    ]);
  });

  test("its position is that of the queue", () => {
    const state = configured({ maxInstances: 0 }, [waiting("a"), waiting("b", { priority: 99 })]);
    expect(explainRun(state, "a", T0)?.reason).toMatchObject({ position: 2, queued: 2 });
  });

  test.each([
    ["one that has a place", placed("a", "w1")],
    ["one that wants none", waiting("a", { wants: "nothing" })],
    ["one that is not here", waiting("b")],
  ])("%s does not wait", (_what, row) => {
    expect(explainRun(configured({}, [row], [workerRow("w1")]), "a", T0)).toBeNull();
  });
});

describe("rows as lists show them", () => {
  test("a run", () => {
    const row = placed("a", "w1", { state: "complete", exitCode: 2, startedAt: T0 + 1, finishedAt: T0 + 2 });
    const summary = runSummary(row, "default");
    expect(summary).toMatchObject({
      id: "a",
      pool: "default",
      worker: "w1",
      exitCode: 2,
      startedAt: iso(1),
      finishedAt: iso(2),
    });
    expect(RunSummary.parse(summary)).toEqual(summary);
    expect(runSummary(waiting("b"), "default")).toMatchObject({
      worker: null,
      startedAt: null,
      finishedAt: null,
    });
  });

  test.each([
    ["ready", [], "idle"],
    ["ready", ["a"], "running"],
    ["asked", [], "booting"],
    ["booting", [], "booting"],
    ["unknown", ["a"], "unknown"],
    ["shutdown", [], "shutdown"],
    ["gone", [], "gone"],
  ] as const)("a worker that is %s, with %j on it, is shown %s (workers.md#states)", (phase, runs, state) => {
    const summary = workerSummary(
      workerRow("w1", phase),
      runs.map((run) => placed(run, "w1")),
      POOL,
    );
    expect(summary).toMatchObject({ id: "w1", state, runs, resources: { vcpus: 4, memoryBytes: 2 ** 30 } });
    expect(WorkerSummary.parse(summary)).toEqual(summary);
  });

  test("what is on a worker are the runs with an open epoch there (invariant 6)", () => {
    const rows = [
      placed("a", "w1"),
      placed("b", "w1"),
      placed("c", "w2"),
      placed("d", "w1", { ended: 1 }),
      waiting("e"),
    ];
    const found = [...runsByWorker(configured({}, rows))];
    expect(found.map(([worker, on]) => [worker, on.map(({ run }) => run)])).toEqual([
      ["w1", ["a", "b"]],
      ["w2", ["c"]],
    ]);
  });
});

test("a worker says what the runs on it have reserved (pool.md#fit)", () => {
  const half = { vcpus: 0.5, memoryBytes: 2 ** 20, diskBytes: 0, gpus: 0 };
  const runs = [
    placed("a", "w1", { resources: half }),
    placed("b", "w1", { resources: half }),
    placed("c", "w2", { resources: half }),
    placed("d", "w1", { resources: half, ended: 1 }),
  ];
  const rows = ["w1", "w2", "w3"].map((worker) => workerRow(worker));
  const listed = listedWorkers(configured({}, runs, rows), ["idle", "running"], () => [], {
    byWorker: new Map(),
    isAll: true,
  });
  expect(listed.map(({ id, used }) => [id, used?.vcpus, used?.memoryBytes])).toEqual([
    ["w1", 1, 2 ** 21],
    ["w2", 0.5, 2 ** 20],
    ["w3", 0, 0],
  ]);
});

describe("A6 M04-last: a worker in a list says what it did last", () => {
  const RUN_ENDED = new Map([["w1", { run: "a", finishedAt: T0 + 5_000 }]]);
  const type = { vcpus: 4, memory: "1GiB", disk: 0, gpus: 0, providerType: "cx22" };
  const listed = (row: WorkerRow, byWorker: LastRuns["byWorker"], isAll = true, runs: RunRow[] = []) =>
    listedWorkers(configured({}, runs, [row]), ["idle", "running", "booting"], () => [], {
      byWorker,
      isAll,
    })[0];
  const last = { run: "a", endedAt: iso(5_000) };

  test.each<[string, ReturnType<typeof listed>, Partial<ListedWorker>]>([
    [
      "idle since its last run ended",
      listed(workerRow("w1", "ready", { readyAt: T0 }), RUN_ENDED),
      { idleSince: iso(5_000), lastRun: last },
    ],
    [
      "idle since it became ready, where no run ever was",
      listed(workerRow("w1", "ready", { readyAt: T0 }), new Map()),
      { idleSince: iso(0), lastRun: null },
    ],
    [
      "idle since nobody knows when, where its last run may be too old to be looked at",
      listed(workerRow("w1", "ready", { readyAt: T0 }), new Map(), false),
      { idleSince: null, lastRun: null },
    ],
    [
      "not idle, with a run on it",
      listed(workerRow("w1", "ready", { readyAt: T0 }), RUN_ENDED, true, [placed("b", "w1")]),
      { idleSince: null, lastRun: last },
    ],
    ["not idle, while it boots", listed(workerRow("w1", "booting"), new Map()), { idleSince: null }],
    [
      "of the type that its provider knows",
      listed(workerRow("w1", "ready", { instanceType: "small", type }), new Map()),
      { instanceType: "small", providerType: "cx22" },
    ],
    [
      "of the type of that name, where the provider calls it so",
      listed(workerRow("w1", "ready", { instanceType: "small" }), new Map()),
      { providerType: "small" },
    ],
    [
      "of no type, a self-hosted machine",
      listed(workerRow("w1", "ready", { kind: "self-hosted" }), new Map()),
      { providerType: null },
    ],
  ])("%s", (_what, found, expected) => {
    expect(found).toMatchObject(expected);
    expect(ListedWorker.parse(found)).toEqual(found);
  });
});

describe("A6 M-queue: the queue as it is read", () => {
  const IDS = ["first", "second", "third", "fourth"];
  /** Four runs of which one has a higher priority, on a pool that may have no machine. */
  const state = () =>
    configured({ maxInstances: 0 }, [
      waiting("fourth", { priority: 10 }),
      waiting("third", { submittedAt: T0 - 1_000 }),
      waiting("second", { submittedAt: T0 - 5_000 }),
      waiting("first", { priority: 90 }),
      waiting("over", { state: "complete", wants: "nothing" }),
    ]);
  const page = (limit: number, after?: QueuePlace) => queuePage(state(), { limit, after }, T0);

  test("is in the order in which runs get a place, each with what its `why` says", () => {
    const { items, queued, isLast } = page(10);
    expect(items.map(({ id, position }) => [id, position])).toEqual(IDS.map((id, at) => [id, at + 1]));
    expect([queued, isLast]).toEqual([4, true]);
    expect(items[1]).toMatchObject({ priority: 50, ageMs: 5_000, submittedAt: iso(-5_000), command: "true" });
    for (const { id, position, reason, next } of items) {
      const why = explainRun(state(), id, T0);
      expect(why).toMatchObject({ reason: { ...reason, position, queued: 4 }, next });
      expect(reason.code).toBe("no_workers");
    }
  });

  test("comes in pages, which end where the queue ends", () => {
    const seen: string[] = [];
    let after: QueuePlace | undefined;
    for (;;) {
      const { items, isLast } = page(3, after);
      seen.push(...items.map(({ id }) => id));
      const last = items.at(-1);
      if (isLast || last === undefined) break;
      after = { run: last.id, priority: last.priority, submittedAt: Date.parse(last.submittedAt) };
    }
    expect(seen).toEqual(IDS);
  });

  test.each<[string, QueuePlace, string[]]>([
    [
      "has been placed meanwhile",
      { run: "gone", priority: 50, submittedAt: T0 - 5_000 },
      ["second", "third", "fourth"],
    ],
    ["was the last", { run: "fourth", priority: 10, submittedAt: T0 }, []],
  ])("goes on behind a run that %s", (_what, after, ids) => {
    expect(page(10, after).items.map(({ id }) => id)).toEqual(ids);
  });
});
