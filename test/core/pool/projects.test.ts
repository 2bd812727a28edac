import { describe, expect, test } from "vitest";
import type { PoolEvent } from "../../../src/core/pool/machine.ts";
import { listedWorkers, queuePage } from "../../../src/core/pool/read/lists.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import type { WorkerRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import {
  answer,
  at,
  configured,
  held,
  hold,
  MINUTE,
  owed,
  placed,
  placesOf,
  pool,
  rowOf,
  run,
  T0,
  vcpus,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

type Config = Partial<PoolConfigInput>;

/** A pool of two projects, whose machines are kept apart. */
const BOTH: Config = { projects: { default: {}, ml: {} } };
const SHARED: Config = { ...BOTH, shareMachines: true };
const ml = { project: "ml" };

const configure = (more: Config, revision = 2): PoolEvent => ({
  type: "configure",
  body: { pool: "default", revision, config: poolConfig(more), seed: "s" },
});

const projectsOf = (state: Configured): Record<string, string | null> =>
  Object.fromEntries([...state.workers.live()].map(({ worker, project }) => [worker, project]));

/** The projects that lists show, by worker. */
const shownIn = (state: Configured) => {
  const lasts = { byWorker: new Map(), isAll: true };
  const states = ["idle", "running", "booting", "shutdown"] as const;
  return listedWorkers(state, states, () => [], lasts).map(({ id, project }) => `${id} ${project}`);
};

const drained = (state: Configured) => owed(state, T0, "drain_worker").map(({ to }) => to);

describe("a pool serves the projects that its configuration names (projects.md#pools)", () => {
  test("for another project it does not exist, in the very words of a pool that does not", () => {
    const none = answer(pool(null), "a", ml);
    expect(none).toMatchObject({ kind: "refused", code: "unknown_pool" });
    expect(answer(at(configured(), T0, run("a", ml)), "a", ml)).toEqual(none);
    expect(answer(at(configured({ projects: { ml: {} } }), T0, run("a")), "a")).toEqual(none);
  });

  test("nor does a pool that is being deleted exist for it", () => {
    const state = at(configured({}, [placed("x", "w1")], [workerRow("w1")]), T0, {
      type: "configure",
      body: { pool: "default", revision: 2, config: poolConfig(), seed: "s", remove: "drained" },
    });
    expect(answer(state, "a", ml)).toMatchObject({ code: "unknown_pool" });
    expect(answer(state, "a")).toMatchObject({ code: "pool_draining" });
  });

  test.each(["default", "ml"])("it takes the runs of %s, which it serves", (project) => {
    const state = at(configured(BOTH, [], [workerRow("w1")]), T0, run("a", { project }));
    expect(rowOf(state, "a")).toMatchObject({ worker: "w1", project });
  });

  test("no project fills the queue: each has its part of it (projects.md#queue)", () => {
    const mine = ["a", "b"].map((id) => waiting(id, ml));
    const state = configured({ ...BOTH, maxQueue: 5 }, mine);
    expect(answer(state, "c", ml)).toMatchObject({
      code: "busy",
      text:
        'project "ml" has as many runs in the pool\'s queue as it may (2 of 5, since the pool serves 2 ' +
        "projects); try again when some have been placed",
      retryAfterMs: 10_000,
    });
    expect(answer(at(state, T0, run("c")), "c")).toMatchObject({ kind: "queued" });
    const alone = configured({ projects: { ml: {} }, maxQueue: 3 }, mine);
    expect(answer(at(alone, T0, run("c", ml)), "c", ml)).toMatchObject({ kind: "queued" });
  });

  test("a run that is placed when its project is served no longer goes on, one that waits says why", () => {
    const runs = [placed("on", "w1", ml), waiting("off", { ...ml, ...vcpus(4) })];
    const before = configured(BOTH, runs, [workerRow("w1", "ready", { project: "ml" }), workerRow("w2")]);
    const state = at(before, T0, configure({}));
    expect(rowOf(state, "on")).toMatchObject({ opened: 1, ended: 0 });
    expect(rowOf(state, "off")).toMatchObject({ opened: 0 });
    expect(explainRun(state, "off", T0)).toMatchObject({
      reason: { code: "project_not_served", text: 'the pool no longer serves its project, "ml"' },
      next: { at: null, waitsFor: "operator" },
    });
  });

  test("a run that waits for its project to be served again reserves nothing, and then goes on", () => {
    const runs = [waiting("off", { ...ml, ...vcpus(4) }), waiting("a", vcpus(4))];
    const state = at(configured(BOTH, runs), T0, configure({ maxInstances: 1 }));
    expect(state.memo.latest.pass?.reserved).toBeNull();
    const booted = at(state, T0, { type: "tick" }, configure(BOTH, 3));
    expect(explainRun(booted, "off", T0)?.reason.code).toBe("machine_asked");
  });
});

describe("a machine belongs to the project whose run is placed there first (projects.md#machines)", () => {
  test("its row says so from the placement on, and a reload does not forget it", () => {
    const state = at(configured(BOTH, [], [workerRow("w1")]), T0, run("a", ml));
    expect(projectsOf(state)).toEqual({ w1: "ml" });
    expect(shownIn(state)).toEqual(["w1 ml"]);
  });

  test("no run of another project is placed there, though there is room; one of its own is", () => {
    const state = at(configured(BOTH, [], [workerRow("w1")]), T0, run("a", ml), run("b"), run("c", ml));
    expect(rowOf(state, "b")).toMatchObject({ worker: null });
    expect(rowOf(state, "c")).toMatchObject({ worker: "w1" });
    expect(state.record.nextWorker).toBe(2);
  });

  test("it stays its project's when its last run has ended", () => {
    const ended = run("a", { ...ml, version: 2, state: "complete", wants: "nothing", epoch: 1, ended: 1 });
    const state = at(configured(BOTH, [], [workerRow("w1")]), T0, run("a", ml), ended, run("b"));
    expect(rowOf(state, "b")).toMatchObject({ worker: null });
    expect(projectsOf(state)).toMatchObject({ w1: "ml" });
  });

  test("two runs that come at once are not placed on one machine that was nobody's", () => {
    const state = configured(BOTH, [waiting("a"), waiting("b", ml)], [workerRow("w1")]);
    expect(placesOf(state)).toEqual(["a@w1"]);
  });

  test("runs of two projects count on a machine each, and get the ones that were asked for", () => {
    const runs = [waiting("a"), waiting("b", ml), waiting("c"), waiting("d", ml)];
    const asked = at(configured(BOTH, runs), T0, { type: "tick" });
    expect([...asked.workers.live()]).toHaveLength(2);
    const again = at(asked, T0 + 1, { type: "tick" });
    expect([...again.workers.live()]).toHaveLength(2);
    const up = [1, 2].map((n) => workerSays(`default-s-${n}`, { version: 2 }));
    const ready = at(again, T0 + 2, ...up);
    expect(["a", "b", "c", "d"].map((id) => rowOf(ready, id)?.worker)).toEqual(
      [1, 2, 1, 2].map((n) => `default-s-${n}`),
    );
    expect(projectsOf(ready)).toEqual({ "default-s-1": "default", "default-s-2": "ml" });
  });

  test("a run that finds no machine hides none from a like run of the project that has one", () => {
    const runs = [waiting("a"), waiting("b", ml)];
    const state = configured(BOTH, runs, [workerRow("w1", "ready", ml)]);
    expect(placesOf(held(state, hold(T0 + 1)))).toEqual(["b@w1"]);
  });

  test("a run reserves no machine of another project", () => {
    const runs = [
      placed("x", "w1", { ...ml, ...vcpus(3) }),
      placed("y", "w2", vcpus(4)),
      waiting("a", vcpus(4)),
    ];
    const workers = [
      workerRow("w1", "ready", { project: "ml" }),
      workerRow("w2", "ready", { project: "default" }),
    ];
    const state = at(configured({ ...BOTH, maxInstances: 2 }, runs, workers), T0, { type: "tick" });
    expect(state.memo.latest.pass?.reserved).toEqual({ run: "a", worker: "w2" });
  });

  test("its run goes home, but not to the machine of another project", () => {
    const at1 = (project: string) => {
      const workers = [workerRow("w1", "ready", { project }), workerRow("w2", "ready", { project: "ml" })];
      return placesOf(configured(BOTH, [waiting("a", { ...ml, prefer: "w1" })], workers));
    };
    expect(at1("ml")).toEqual(["a@w1"]);
    expect(at1("default")).toEqual(["a@w2"]);
  });

  test("a self-hosted machine is kept apart as well: what only it could hold is refused then", () => {
    const own: Partial<WorkerRow> = { resources: { vcpus: 64, memoryBytes: 1e12, diskBytes: 0, gpus: 0 } };
    const with1 = (project: string | null) =>
      at(
        configured(BOTH, [], [workerRow("w1", "ready", { ...own, kind: "self-hosted", project })]),
        T0,
        run("a", vcpus(32)),
      );
    expect(answer(with1(null), "a", vcpus(32))).toMatchObject({ kind: "placed", worker: "w1" });
    expect(answer(with1("ml"), "a", vcpus(32))).toMatchObject({ code: "unsatisfiable" });
  });

  test("with shareMachines it is nobody's, and has runs of both", () => {
    const state = at(configured(SHARED, [], [workerRow("w1")]), T0, run("a", ml), run("b"));
    expect(rowOf(state, "b")).toMatchObject({ worker: "w1" });
    expect(projectsOf(state)).toEqual({ w1: null });
    expect(shownIn(state)).toEqual(["w1 null"]);
  });

  test("in a pool that serves default alone, no row says so, and lists show default", () => {
    const state = at(configured({}, [], [workerRow("w1")]), T0, run("a"));
    expect(projectsOf(state)).toEqual({ w1: null });
    expect(shownIn(state)).toEqual(["w1 default"]);
  });
});

describe("a machine makes room for another project's run (projects.md#machines, pool.md#making-room)", () => {
  const full = (on: Config = {}) => {
    const workers = [1, 2].map((n) => workerRow(`w${n}`, "ready", { project: "default" }));
    const runs = [placed("x", "w1", vcpus(1)), placed("y", "w1", vcpus(1)), placed("z", "w2", vcpus(1))];
    return configured({ ...BOTH, maxInstances: 2, ...on }, [...runs, waiting("a", ml)], workers);
  };

  test("the one with the fewest runs takes no later runs", () => {
    const state = at(full(), T0, { type: "tick" });
    expect(state.memo.latest.pass?.reserved).toEqual({ run: "a", worker: "w2", evict: true });
    expect(
      rowOf(at(state, T0, run("late", { ...vcpus(1), submittedAt: T0 + 1 })), "late", T0 + 1),
    ).toMatchObject({
      worker: "w1",
    });
  });

  test("it stops once it is idle, though minInstances would keep it, and another is made for the run", () => {
    const over = run("z", {
      ...vcpus(1),
      version: 2,
      state: "complete",
      wants: "nothing",
      epoch: 1,
      ended: 1,
    });
    const idle = at(full({ minInstances: 2 }), T0, over);
    expect(owed(idle, T0, "make_room").map(({ to }) => to)).toEqual(["w2"]);
    const gone = workerSays("w2", { phase: "gone", version: 3, reason: "" });
    const made = at(idle, T0, workerSays("w2", { wantsStop: true }), gone);
    expect([...made.workers.live()].map(({ worker }) => worker)).toEqual(["w1", "default-s-1"]);
  });

  test("neither the run that waits nor one of the other project is told which machine it is", () => {
    const state = full();
    expect(explainRun(state, "a", T0)?.reason.text).toBe(
      "no machine has capacity (2 of other projects) and the pool is at its limit (`maxInstances` = 2); a " +
        "machine of another project takes no other runs, and ends when it is idle, to make room for this run",
    );
    const third = full();
    third.runs.set("000000000000000/b", waiting("b", { project: "ml", ...vcpus(4), priority: 1 }), T0);
    const { items } = queuePage(third, { limit: 10 }, T0);
    expect(items.map(({ id, project }) => `${id} ${project}`)).toEqual(["a ml", "b ml"]);
    expect(items[1]?.reason.text).not.toContain("w2");
  });
});

describe("another configuration does not make used machines nobody's (projects.md#changes)", () => {
  const used = workerRow("used", "ready");
  const fresh = workerRow("fresh", "booting");

  test.each<[string, Config, Config, string | null]>([
    ["a second project", {}, BOTH, "default"],
    ["a second project, which shares machines", {}, SHARED, "default"],
    ["another project instead", {}, { projects: { ml: {} } }, "default"],
    ["nothing", {}, {}, null],
    ["the only project by its name", {}, { projects: { default: {} } }, "default"],
    ["another name of what is so already", {}, { projects: { default: {} }, shareMachines: true }, null],
    ["machines that are no longer shared", SHARED, BOTH, "*"],
    ["one project less, of those that share", SHARED, { projects: { ml: {} }, shareMachines: true }, "*"],
    [
      "one more that shares",
      SHARED,
      { projects: { default: {}, ml: {}, web: {} }, shareMachines: true },
      null,
    ],
    ["machines that are shared from now on", BOTH, SHARED, null],
  ])("with %s", (_name, before, after, project) => {
    const state = at(configured(before, [], [used, fresh]), T0, configure(after));
    expect(projectsOf(state)).toEqual({ used: project, fresh: null });
  });

  test("what was shared is nobody's even if a row names a project from before", () => {
    const row = workerRow("w1", "ready", { project: "ml" });
    expect(projectsOf(at(configured(SHARED, [], [row]), T0, configure(BOTH)))).toEqual({ w1: "*" });
  });

  test("no run is placed there, and it is drained; a machine of a project that is served stays", () => {
    const rows = [
      workerRow("mixed", "ready", { project: "*" }),
      workerRow("old", "ready", { project: "old" }),
      workerRow("own", "ready", { project: "ml", pausedUntil: T0 + MINUTE }),
    ];
    const state = at(configured(BOTH, [waiting("a")], rows), T0, { type: "tick" });
    expect(drained(state)).toEqual(["mixed", "old"]);
    expect(rowOf(state, "a")).toMatchObject({ worker: null });
  });

  test("with a lower number of projects the machine of one that is left out is drained", () => {
    const row = workerRow("w1", "ready", { project: "ml" });
    expect(drained(at(configured(BOTH, [], [row]), T0, configure({ projects: { default: {} } })))).toEqual([
      "w1",
    ]);
    const shared = { projects: { default: {}, web: {} }, shareMachines: true };
    expect(drained(at(configured(BOTH, [], [row]), T0, configure(shared)))).toEqual(["w1"]);
  });
});
