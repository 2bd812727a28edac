import { describe, expect, test } from "vitest";
import type { RunUpsert } from "../../../src/core/messages.ts";
import type { PoolEvent } from "../../../src/core/pool/machine.ts";
import { listedWorkers } from "../../../src/core/pool/read/lists.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import {
  at,
  configured,
  MINUTE,
  owed,
  reloaded,
  rowOf,
  run,
  T0,
  upsert,
  vcpus,
  workerRow,
  workerSays,
} from "../support/pool.ts";

// A failed run that its machine keeps (tasks.md#kept): it has ended, and its place stays taken.

const tick: PoolEvent = { type: "tick" };
const KEPT = {
  ...vcpus(3),
  version: 2,
  state: "complete",
  exitCode: 3,
  finishedAt: T0,
  wants: "nothing",
  epoch: 1,
  keptUntil: T0 + 30 * MINUTE,
} as const;
const released = { ...KEPT, version: 3, ended: 1, keptUntil: null } as const;

const placedOnes = (state: Configured) =>
  [...state.runs.live()].filter(({ opened, ended }) => opened > ended).map((row) => row.run);
/** A machine of 4 vCPUs on which a run of 3 has failed. */
const begun = (more: Partial<RunUpsert> = {}) =>
  at(
    configured({ maxInstances: 1 }, [], [workerRow("w1")]),
    T0,
    tick,
    run("a", { ...vcpus(3), ...more }),
    run("a", { ...KEPT, ...more }),
  );

describe("its place", () => {
  test("tasks.md#kept-4: is free once its run says so, and not before, also after a crash", () => {
    const full = at(begun(), T0, run("b", vcpus(2)));
    expect(placedOnes(full)).toEqual(["a"]);
    expect(placedOnes(at(reloaded(full), T0 + MINUTE, tick))).toEqual(["a"]);
    expect(placedOnes(at(full, T0, run("a", released)))).toEqual(["b"]);
  });

  test("is named to a run that waits for room, with what to do", () => {
    const why = explainRun(at(begun(), T0, run("b", vcpus(2))), "b", T0);
    expect(why?.reason.code).toBe("max_instances");
    expect(why?.reason.text).toMatch(
      /failed runs are kept on their machines, and take room: a \(`drover release`/,
    );
  });

  test("is not named to a run of another project", () => {
    const projects = { default: {}, ml: {} };
    const pool = configured({ maxInstances: 1, projects, shareMachines: true }, [], [workerRow("w1")]);
    const state = at(
      pool,
      T0,
      tick,
      run("a", vcpus(3)),
      run("a", KEPT),
      run("b", { ...vcpus(2), project: "ml" }),
    );
    expect(explainRun(state, "b", T0)?.reason.text).not.toContain("release");
  });

  test("is shown in the list of machines, and not once it is over", () => {
    const none = { byWorker: new Map(), isAll: true };
    const listed = (state: Configured) => listedWorkers(state, ["running", "idle"], () => [], none);
    const until = new Date(KEPT.keptUntil).toISOString();
    expect(listed(begun())).toMatchObject([{ runs: ["a"], kept: [{ run: "a", until }], state: "running" }]);
    expect(listed(at(begun(), T0, run("a", released)))[0]).not.toHaveProperty("kept");
  });

  test("keeps the machine from its idle stop", () => {
    const state = at(begun(), T0 + MINUTE, workerSays("w1", { wantsStop: true }));
    expect(state.workers.get("w1")?.stopUntil).toBe(0);
  });
});

test("a kept run does not count in its array: the next one starts (pool.md#arrays)", () => {
  const of = (index: number) => ({ ...vcpus(1), array: { id: "n", index, size: 2, maxParallel: 1 } });
  const pool = configured({ maxInstances: 1 }, [], [workerRow("w1")]);
  const begun = at(pool, T0, tick, run("n-0", of(0)), run("n-1", of(1)));
  expect(placedOnes(begun)).toEqual(["n-0"]);
  const failed = at(begun, T0, run("n-0", { ...KEPT, ...of(0) }));
  expect(placedOnes(failed)).toEqual(["n-0", "n-1"]);
  expect(placedOnes(at(reloaded(failed), T0 + MINUTE, tick))).toEqual(["n-0", "n-1"]);
});

describe("its row", () => {
  test("frees its place once its allocation has lost it, and keeps how it ended (tasks.md#kept-4)", () => {
    const sent = { run: "a", submittedAt: T0 };
    const lost = at(begun(), T0 + MINUTE, { type: "poke_run_answered", sent, answer: { kind: "no_such" } });
    expect(rowOf(lost, "a")).toMatchObject({ state: "complete", exitCode: 3, ended: 1, keptUntil: null });
    expect(placedOnes(at(lost, T0 + MINUTE, run("b", vcpus(2))))).toEqual(["b"]);
  });

  test("is not forgotten while it is kept, however old it is", () => {
    const late = T0 + 400 * 24 * 60 * MINUTE;
    expect(owed(at(begun(), late, tick), late, "forget")).toEqual([]);
    const free = at(begun(), T0, run("a", released));
    expect(owed(at(free, late, tick), late, "forget").map(({ body }) => body.run)).toEqual(["a"]);
  });

  test("says until when", () => {
    expect(rowOf(begun(), "a")?.keptUntil).toBe(KEPT.keptUntil);
    expect(rowOf(at(begun(), T0, run("a", released)), "a")?.keptUntil).toBeNull();
  });
});

test("tasks.md#kept-3: a run that replaces it has it released, and starts once that is over", () => {
  const replace = "deploy";
  const state = at(begun({ replace }), T0, run("b", { ...vcpus(0), replace }));
  expect(placedOnes(state)).toEqual(["a"]);
  const told = owed(state, T0, "end_run").map(({ body }) => body);
  expect(told).toMatchObject([{ run: "a", reason: "run b replaces it", graceful: true }]);
  const [sent] = told;
  if (sent === undefined) throw new Error("nothing is sent");
  const answer = { kind: "run", run: upsert("a", { ...KEPT, replace }) } as const;
  const confirmed = at(state, T0, { type: "end_run_answered", sent, answer });
  expect([owed(confirmed, T0, "end_run"), placedOnes(confirmed)]).toEqual([[], ["a"]]);
  expect(placedOnes(at(confirmed, T0, run("a", { ...released, replace })))).toEqual(["b"]);
});
