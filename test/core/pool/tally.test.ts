import { describe, expect, test } from "vitest";
import { callSeries, sumOf, timeCounts } from "../../../src/core/histogram.ts";
import type { RunUpsert, WorkerUpsert } from "../../../src/core/messages.ts";
import { loadedPool } from "../../../src/core/pool/load.ts";
import type { PoolEvent } from "../../../src/core/pool/machine.ts";
import { ENDS_LEFT_TO_ROWS } from "../../../src/core/pool/plan/tally.ts";
import {
  isLiveRun,
  isLiveWorker,
  NO_TALLY,
  type RunRow,
  runKey,
  type WorkerRow,
} from "../../../src/core/pool/record.ts";
import type { PoolState } from "../../../src/core/pool/state.ts";
import type { ListAnswer } from "../../../src/core/provider-answers.ts";
import { Rows } from "../../../src/core/rows.ts";
import { auditTable } from "../support/audit.ts";
import { MapDisk } from "../support/map-disk.ts";
import {
  at,
  existing,
  hoursTable,
  MINUTE,
  recordOf,
  run,
  T0,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

/** A pool on disks of its own: what is loaded again is what it has stored. */
function stored(workers: WorkerRow[] = []) {
  const runDisk = new MapDisk<RunRow>();
  const workerDisk = new MapDisk<WorkerRow>();
  for (const row of workers) workerDisk.write(row.worker, row, isLiveWorker(row), T0);
  const load = (record: Parameters<typeof loadedPool>[0]) =>
    existing(
      loadedPool(
        record,
        new Rows(runDisk, isLiveRun),
        new Rows(workerDisk, isLiveWorker),
        auditTable(),
        hoursTable(),
      ),
    );
  return { load, first: load(recordOf(poolConfig({ maxInstances: 0 }))) };
}

const countsOf = ({ memo }: PoolState) => memo.counting.counts;
const ended = (id: string, more: Partial<RunUpsert> = {}) =>
  run(id, {
    version: 2,
    state: "complete",
    wants: "nothing",
    startedAt: T0 + 2_000,
    finishedAt: T0 + 5_000,
    ...more,
  });

describe("each end of a run is counted once (pool.md#metrics)", () => {
  test("with what it took, and what went wrong on the way (tasks.md#metrics)", () => {
    const { first } = stored();
    const wrong = { restarts: 2, oomKills: 1, startFailures: 3, taskFailures: { main: 1, poststop: 2 } };
    const state = at(first, T0 + 25_000, run("a"), ended("a", wrong));
    expect(countsOf(state)).toEqual({
      "ended complete": 1,
      restarts: 2,
      oomKills: 1,
      startFailures: 3,
      "failed main": 1,
      "failed poststop": 2,
      "start times": 1,
      "start seconds": 2,
      "start le 5": 1,
      "run times": 1,
      "run seconds": 3,
      "run le 10": 1,
      "report times": 1,
      "report seconds": 20,
      "report le 60": 1,
    });
  });

  test("a run that never started adds to no duration (pool.md#histograms)", () => {
    const { first } = stored();
    const state = at(first, T0, run("a"), ended("a", { state: "aborted", startedAt: null }));
    expect(countsOf(state)).toEqual({ "ended aborted": 1 });
  });

  test("however often it is told", () => {
    const { first } = stored();
    const state = at(first, T0, run("a"), ended("a"), ended("a"), ended("a", { version: 3 }));
    expect(countsOf(state)["ended complete"]).toBe(1);
  });

  test("also by a pool that is loaded again, and costs the record no write", () => {
    const { first, load } = stored();
    const state = at(first, T0, run("a"), ended("a"), run("b"), ended("b", { state: "aborted" }));
    expect(state.record.tally).toEqual(NO_TALLY);
    const again = load(state.record);
    expect(countsOf(again)).toEqual(countsOf(state));
    expect(countsOf(at(again, T0, run("c"), ended("c")))["ended complete"]).toBe(2);
  });

  test("by the hundred they are stored, and what was submitted before counts when it ends after", () => {
    const { first, load } = stored();
    let state = at(first, T0, run("old"));
    for (let n = 1; n <= ENDS_LEFT_TO_ROWS; n += 1) state = at(state, T0 + n, run(`r${n}`), ended(`r${n}`));
    expect(state.record.tally).toMatchObject({ upTo: ENDS_LEFT_TO_ROWS });
    state = at(state, T0 + 90 * MINUTE, ended("old"));
    expect(countsOf(load(state.record))["ended complete"]).toBe(ENDS_LEFT_TO_ROWS + 1);
  });

  test.each([
    ["that reached the pool two hours late", 0],
    ["after the clock was set back by two hours", 120 * MINUTE],
  ])("with an ordinal that never repeats, also if it is of a submission %s", (_what, backMs) => {
    const { first, load } = stored();
    const later = T0 + 120 * MINUTE;
    let state = at(first, later, run("r0", { submittedAt: later }), ended("r0", { submittedAt: later }));
    for (let n = 1; n < ENDS_LEFT_TO_ROWS; n += 1) {
      const submittedAt = later + n;
      state = at(state, later + n, run(`r${n}`, { submittedAt }), ended(`r${n}`, { submittedAt }));
    }
    expect(state.record.tally.from > runKey(T0, "")).toBe(true);
    state = at(state, later - backMs + 1_000, run("late"), ended("late"));
    const again = load(state.record);
    expect(countsOf(again)["ended complete"]).toBe(ENDS_LEFT_TO_ROWS + 1);
    expect(again.memo.counting.ends).toBe(ENDS_LEFT_TO_ROWS + 1);
    const next = at(again, later + 2_000, run("next"), ended("next"));
    expect(next.runs.get(runKey(T0, "next"))?.endNumber).toBe(ENDS_LEFT_TO_ROWS + 2);
  });

  test("and is not lost when its row goes", () => {
    const { first, load } = stored();
    let state = at(first, T0, run("a"), ended("a"));
    const key = `${String(T0).padStart(15, "0")}/a`;
    state = at(state, T0, {
      type: "forget_answered",
      sent: { run: "a", submittedAt: T0 },
      answer: { kind: "forgotten" },
    });
    expect(state.runs.get(key)).toBeUndefined();
    expect(countsOf(load(state.record))["ended complete"]).toBe(1);
  });
});

describe("what happens to a machine is counted once (workers.md#boot-outcomes, pool.md#metrics)", () => {
  const said = (...words: Partial<WorkerUpsert>[]) => {
    const { first, load } = stored([
      workerRow("w1", "asked", { type: { ...workerRow("w1").type, price: 3 } }),
    ]);
    let state = first;
    for (const [n, more] of words.entries()) {
      const says = workerSays("w1", {
        version: n + 2,
        bootOutcome: null,
        readyAt: null,
        instance: "i-1",
        ...more,
      });
      state = at(state, T0 + (n + 1) * MINUTE, says, says);
    }
    expect(countsOf(load(state.record))).toEqual(countsOf(state));
    return countsOf(state);
  };
  const boots = { phase: "booting" } as const;
  const ready = {
    phase: "ready",
    readyAt: T0 + 2 * MINUTE,
    bootOutcome: "success",
  } as const;
  const shutdown = { phase: "shutdown", reason: "idle" } as const;
  const gone = { phase: "gone" } as const;
  const failure = { class: "boot", text: "too late", at: T0 } as const;
  const capacity = { class: "capacity", text: "none left", at: T0 } as const;

  test.each<[string, Partial<WorkerUpsert>[], Record<string, number>]>([
    ["made", [boots], { "created success": 1 }],
    ["ready", [boots, ready], { "boot success": 1, "ready times": 1, "ready seconds": 120 }],
    ["not made", [{ ...boots, instance: null, failure: capacity }], { "created failure": 1 }],
    [
      "never ready",
      [boots, { ...shutdown, failure, bootOutcome: "failure" }, { ...gone, failure, bootOutcome: "failure" }],
      { "boot failure": 1, destroys: 1 },
    ],
    [
      "killed while it boots",
      [boots, { ...shutdown, bootOutcome: "aborted" }, { ...gone, bootOutcome: "aborted" }],
      { "boot aborted": 1, "disappeared shutdown": 1 },
    ],
    [
      "gone while it boots",
      [boots, { ...gone, bootOutcome: "disappeared" }],
      { "boot disappeared": 1, "disappeared booting": 1 },
    ],
    [
      "gone while ready",
      [boots, ready, { ...ready, ...gone }],
      { "boot success": 1, "disappeared ready": 1 },
    ],
    [
      "at a price that falls when it is a minute old (pool.md#prices)",
      [
        boots,
        { ...ready, listedPrice: { price: 1.2, since: T0 + MINUTE } },
        { ...ready, ...gone, listedPrice: { price: 1.2, since: T0 + MINUTE } },
      ],
      { spent: 0.09 },
    ],
    [
      "that comes back after it was taken for gone: no time is paid for twice",
      [boots, ready, { ...ready, ...gone }, { ...ready, ...shutdown }, { ...ready, ...gone }],
      { spent: 0.25 },
    ],
    [
      "of which nobody has learned the id, and whose host was ready (pool.md#prices)",
      [
        { ...ready, instance: null },
        { ...ready, ...gone, instance: null },
      ],
      { spent: 0.1 },
    ],
    [
      "of which nobody knows anything, and whose end was forced: it may be there (pool.md#prices)",
      [
        { ...boots, instance: null },
        { ...gone, instance: null, forced: true },
      ],
      { spent: 0.1 },
    ],
    [
      "that force has left behind, from its permit to its end (pool.md#prices)",
      [{ ...boots, instance: null }, { ...gone, instance: null, forced: true }, shutdown, gone],
      { spent: 0.2 },
    ],
    [
      "that the provider has refused, and that a listing shows later with its age",
      [
        { ...boots, instance: null },
        { ...gone, instance: null, failure: capacity, unmade: true, forced: true },
        { ...shutdown, failure: capacity, paid: { from: T0, until: null } },
        { ...gone, failure: capacity, paid: { from: T0, until: null } },
      ],
      { spent: 0.2 },
    ],
    [
      "a whole life",
      [boots, ready, { ...ready, ...shutdown }, { ...ready, ...gone }],
      { "boot success": 1, destroys: 1, "disappeared shutdown": 1, "shutdown seconds": 60, spent: 0.2 },
    ],
    [
      "A1: a shutdown lasts from its beginning, however often its worker is heard of meanwhile",
      [
        boots,
        { ...ready, ...shutdown },
        { ...ready, ...shutdown, waits: "destroy" },
        { ...ready, ...shutdown },
        { ...ready, ...gone },
      ],
      { "shutdown times": 1, "shutdown seconds": 180 },
    ],
  ])("%s", (_what, words, counts) => {
    const told = said(...words);
    expect(told).toMatchObject(counts);
    const outcomes = Object.keys(told).filter((name) => name.startsWith("boot "));
    expect(outcomes.length).toBeLessThanOrEqual(1);
  });

  test.each<[string, Partial<WorkerUpsert>]>([
    ["nobody has seen, and two listings omit", {}],
    [
      "the provider has refused, though its end was forced",
      { failure: capacity, unmade: true, forced: true },
    ],
  ])("a machine that %s has cost nothing (pool.md#prices)", (_what, more) => {
    const unseen = { instance: null, ...more };
    expect(said({ ...boots, ...unseen }, { ...gone, ...unseen })).not.toHaveProperty("spent");
  });
});

describe("calls to the provider are counted by what came of them (pool.md#histograms)", () => {
  const made = (tookMs: number) => timeCounts("call", tookMs, callSeries("create", "success"));
  const boots = (version: number, calls: WorkerUpsert["calls"]) => {
    return workerSays("w1", { version, phase: "booting", readyAt: null, bootOutcome: null, calls });
  };

  test("what a worker has counted counts once, however often and in which order it is told", () => {
    const { first, load } = stored([workerRow("w1", "asked")]);
    const [one, two] = [made(200), sumOf(made(200), made(3_000))];
    const state = at(first, T0, boots(2, one), boots(3, two), boots(2, one), boots(3, two));
    expect(countsOf(state)).toMatchObject(two);
    expect(countsOf(load(state.record))).toEqual(countsOf(state));
  });

  const lists = (tookMs: number, answer: ListAnswer): PoolEvent => {
    return { type: "listed", answer, consistencyMs: 0, tookMs };
  };
  const empty: ListAnswer = { kind: "listed", beganAt: T0, items: [] };
  const failed: ListAnswer = { kind: "failed", failure: { class: "temporary", text: "it is down" } };

  test("each listing is counted, and not lost when its pool is loaded again", () => {
    const { first, load } = stored();
    const state = at(first, T0, lists(200, empty), lists(70_000, empty), lists(900, failed));
    expect(countsOf(state)).toEqual({
      "call list success times": 2,
      "call list success seconds": 70.2,
      "call list success le 0.25": 1,
      "call list failure times": 1,
      "call list failure seconds": 0.9,
      "call list failure le 1": 1,
    });
    expect(countsOf(load(state.record))).toEqual(countsOf(state));
  });

  test("a listing that was not made is not counted", () => {
    const { first } = stored();
    const unasked: PoolEvent = { type: "listed", answer: failed, consistencyMs: 0 };
    expect(Object.keys(countsOf(at(first, T0, unasked)))).toEqual([]);
  });
});

describe("a host that falls silent is counted each time (pool.md#silent-hosts)", () => {
  const says = (version: number, phase: WorkerUpsert["phase"]) => workerSays("w1", { version, phase });

  test.each([
    ["a provider's", workerRow("w1", "ready"), 2],
    ["a self-hosted", workerRow("w1", "ready", { kind: "self-hosted", resources: null }), 2],
  ])("%s machine", (_what, row, times) => {
    const { first, load } = stored([row]);
    const state = at(
      first,
      T0,
      ...[says(2, "unknown"), says(2, "unknown"), says(3, "ready"), says(4, "unknown"), says(5, "shutdown")],
    );
    expect(countsOf(state).silences).toBe(times);
    expect(countsOf(load(state.record)).silences).toBe(times);
  });
});
