import { describe, expect, test } from "vitest";
import type { ArrayEnded, RunUpsert } from "../../../src/core/messages.ts";
import { failLimit } from "../../../src/core/pool/arrays/array-ends.ts";
import type { PoolEvent } from "../../../src/core/pool/machine.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import { RunArray } from "../../../src/schema/run/array.ts";
import type { AfterOn } from "../../../src/shared/after/entries.ts";
import { MAX_ARRAY_RUNS } from "../../../src/shared/limits.ts";
import {
  at,
  configured,
  existing,
  MINUTE,
  owed,
  pool,
  rowOf,
  run,
  T0,
  upsert,
  vcpus,
  workerRow,
} from "../support/pool.ts";

// Whoever follows an array waits for all of it by one entry, and what is told follows from the rows
// (pool.md#array-ends). An array may end early (pool.md#fail-at).

const tick: PoolEvent = { type: "tick" };
type Said = Partial<RunUpsert>;

const of = (index: number, size: number, more: object = {}): Said => ({
  ...vcpus(0),
  array: { id: "parts", index, size, ...more },
});
const over = { version: 2, wants: "nothing", epoch: 1, ended: 1, finishedAt: T0 } as const;
const ENDS: Record<string, Said> = {
  live: {},
  well: { ...over, state: "complete", exitCode: 0 },
  exit3: { ...over, state: "complete", exitCode: 3 },
  timedout: { ...over, state: "timedout" },
  failed: { ...over, state: "failed", failure: "command_not_found" },
  lost: { ...over, state: "unknown", failure: "machine_lost" },
  aborted: { ...over, state: "aborted" },
};
const waits = (on: AfterOn, more: Said = {}): PoolEvent =>
  run("next", {
    ...vcpus(0),
    wants: "nothing",
    deferred: true,
    awaitsArrays: [{ array: "parts", on }],
    ...more,
  });

/** A pool with an array whose runs are so, each submitted and then as said. */
function arrayOf(ends: readonly string[], more: object = {}): Configured {
  const begun = ends.map((_, index) => run(`parts-${index}`, of(index, ends.length, more)));
  const said = ends.flatMap((end, index) =>
    end === "live" ? [] : [run(`parts-${index}`, { ...of(index, ends.length, more), ...ENDS[end] })],
  );
  return at(configured({}, [], [workerRow("w1")]), T0, tick, ...begun, ...said);
}
/** A pool with an array of the largest size, of which no run has ended. */
function largest(more: object = {}): Configured {
  const size = MAX_ARRAY_RUNS;
  const state = at(configured({}, [], [workerRow("w1")]), T0, tick, run("parts-0", of(0, size, more)));
  const row = rowOf(state, "parts-0");
  if (row?.array === undefined) throw new Error("the run has a row");
  const { array } = row;
  const rows = Array.from({ length: size }, (_, index) => {
    return { ...row, run: `parts-${index}`, array: { ...array, index } };
  });
  return existing(pool(state.record, rows, [...state.workers.live()]));
}
const told = (state: Configured, now = T0) => owed(state, now, "array_ended").map(({ body }) => body);
const asked = (state: Configured, now = T0) => owed(state, now, "end_run").map(({ body }) => body);
/** The pool after its object was loaded again, with all its rows. */
const loaded = (state: Configured, without: readonly string[] = []) => {
  const rows = [...state.runs.live(), ...[...state.runs.ended(9_999)].map(([, row]) => row)];
  const left = rows.filter((row) => !without.includes(row.run));
  return existing(pool(state.record, left, [...state.workers.live()]));
};
const body = (on: AfterOn, unmet?: ArrayEnded["unmet"]): ArrayEnded => {
  return { run: "next", submittedAt: T0, array: "parts", on, ...(unmet === undefined ? {} : { unmet }) };
};
const because = (name: string, text: string) => ({ text: "has not ended well", cause: { run: name, text } });

describe("a run that awaits an array", () => {
  test.each<[AfterOn, string[], ArrayEnded["unmet"] | "nothing"]>([
    ["success", ["well"], undefined],
    ["success", ["well", "well"], undefined],
    ["success", ["well", "live"], "nothing"],
    ["success", ["live", "exit3"], because("parts-1", "ended with exit code 3")],
    ["success", ["live", "timedout"], because("parts-1", "took longer than its timeout")],
    ["success", ["live", "failed"], because("parts-1", "failed (command_not_found)")],
    ["success", ["live", "lost"], because("parts-1", "was lost (machine_lost)")],
    ["success", ["aborted", "exit3"], because("parts-1", "ended with exit code 3")],
    ["success", ["aborted", "live"], because("parts-0", "was aborted")],
    ["failure", ["exit3", "live"], "nothing"],
    ["failure", ["exit3", "well"], undefined],
    ["failure", ["aborted", "well"], undefined],
    ["failure", ["well", "well"], { text: "ended well" }],
    ["any", ["exit3", "live"], "nothing"],
    ["any", ["exit3"], undefined],
    ["any", ["aborted"], undefined],
    ["any", ["timedout", "lost"], undefined],
    ["any", ["well", "well"], undefined],
  ])("on %s of %j is told %j, also after a crash", (on, ends, unmet) => {
    const state = at(arrayOf(ends), T0, waits(on));
    const expected = unmet === "nothing" ? [] : [body(on, unmet)];
    expect(told(state)).toEqual(expected);
    expect(told(loaded(state))).toEqual(expected);
  });

  test("is told when the last run of it ends, and until its row says that it knows", () => {
    const state = at(arrayOf(["well", "live"]), T0, waits("success"));
    const now = at(state, T0, run("parts-1", { ...of(1, 2), ...ENDS.well }));
    expect(told(now)).toEqual([body("success")]);
    const knows = upsert("next", { ...vcpus(0), version: 2, wants: "place" });
    const answer: PoolEvent = {
      type: "array_ended_answered",
      sent: body("success"),
      answer: { kind: "run", run: knows },
    };
    const after = at(now, T0, answer);
    expect(told(after)).toEqual([]);
    expect(rowOf(after, "next")).toMatchObject({ worker: "w1" });
  });

  // The refused one is older, so its row has another key (messages.md#late-refused).
  const refused = { submittedAt: T0 - MINUTE };
  const pokes = { run: "parts-1", submittedAt: T0 - MINUTE, version: 1 };
  test.each<[string, PoolEvent["type"]]>([
    ["asked how it is", "poke_run_answered"],
    ["told its place", "place_answered"],
  ])("does not count a refused submission, whose copy came late, once it is %s", (_, type) => {
    const late = run("parts-1", { ...of(1, 2), ...refused });
    const before = at(arrayOf(["well", "live"]), T0, waits("success"), late);
    expect(rowOf(before, "parts-1", T0 - MINUTE)).toBeDefined();
    const answer = { kind: "run", run: upsert("parts-1", of(1, 2)) };
    // The test names the type of the event, and gives both what they share.
    const after = at(before, T0, { type, sent: pokes, answer } as PoolEvent);
    expect(rowOf(after, "parts-1", T0 - MINUTE)).toBeUndefined();
    expect(rowOf(after, "parts-1")).toMatchObject({ state: rowOf(before, "parts-1")?.state });
    expect([told(after), told(loaded(after))]).toEqual([[], []]);
    const ended = at(after, T0, run("parts-1", { ...of(1, 2), ...ENDS.well }));
    expect([told(ended), told(loaded(ended))]).toEqual([[body("success")], [body("success")]]);
  });

  test.each<[AfterOn, string[], string, boolean]>([
    ["success", ["well", "live"], "parts-0", true],
    ["success", ["live", "well"], "parts-1", true],
    ["failure", ["exit3", "live"], "parts-0", false],
    ["any", ["well", "live"], "parts-0", false],
  ])(
    "on %s of %j, and %s is deleted, knows what it would know after a crash",
    (on, ends, deleted, isTold) => {
      const row = rowOf(arrayOf(ends), deleted);
      if (row === undefined) throw new Error("the run has a row");
      const gone: PoolEvent = { type: "forget_answered", sent: row, answer: { kind: "forgotten" } };
      const unwanted: PoolEvent = { type: "unwanted", run: row, by: "admin" };
      const state = at(arrayOf(ends), T0, waits(on), unwanted, gone);
      expect(rowOf(state, deleted)).toBeUndefined();
      expect(told(state)).toEqual(told(loaded(state)));
      expect(told(state)).toHaveLength(isTold ? 1 : 0);
    },
  );

  test("of a submission that nobody knows is told that it was lost", () => {
    const late = run("parts-1", { ...of(1, 2), ...refused });
    const before = at(arrayOf(["well"]), T0, waits("success"), late);
    const answer = { kind: "no_such" } as const;
    const after = at(before, T0, { type: "poke_run_answered", sent: pokes, answer });
    expect(rowOf(after, "parts-1", T0 - MINUTE)).toMatchObject({ state: "unknown" });
  });

  test("can see how far the array is", () => {
    const ends = ["live", "well", "exit3", "aborted", "live"];
    const state = loaded(at(arrayOf(ends), T0, waits("any")), ["parts-1"]);
    expect(explainRun(state, "next", T0)).toMatchObject({
      state: "pending",
      reason: {
        code: "awaiting",
        text: 'array "parts": 0 of 5 ended well, 1 failed, 1 aborted, 1 deleted, 2 go on',
      },
      next: { code: "place", waitsFor: "command" },
    });
    expect(explainRun(state, "parts-2", T0)).toBeNull();
  });

  test("is told of the first cause, where a run of it has not started itself", () => {
    const firstCause = { run: "setup", text: "ended with exit code 1" };
    const failure = { failure: "dependency_failed", firstCause } as const;
    const state = at(arrayOf(["live"]), T0, run("parts-0", { ...of(0, 1), ...ENDS.failed, ...failure }));
    const text = "has run parts-0, which did not start";
    expect(told(at(state, T0, waits("success")))).toEqual([body("success", { text, cause: firstCause })]);
  });

  test.each<[AfterOn, boolean]>([
    ["success", false],
    ["failure", false],
    ["any", true],
  ])("on %s does not wait for a run that was deleted", (on, isMet) => {
    const state = loaded(at(arrayOf(["well", "well"]), T0, waits(on)), ["parts-0"]);
    const text = "has lost runs that were deleted before this run knew how they had ended";
    expect(told(state)).toEqual([body(on, isMet ? undefined : { text })]);
  });

  test("does not care for an array of the same name of another project", () => {
    const two = { projects: { default: {}, ml: {} }, shareMachines: true };
    const ml = run("ml.parts-0", { ...of(0, 1), project: "ml" });
    const ended = run("ml.parts-0", { ...of(0, 1), ...ENDS.well, project: "ml" });
    const state = at(configured(two, [], [workerRow("w1")]), T0, run("parts-0", of(0, 1)), ml, ended);
    expect(told(at(state, T0, waits("success")))).toEqual([]);
  });

  test("sees a run that was run again as its latest run is", () => {
    const again = { ...of(0, 1), submittedAt: T0 + 1 };
    const state = at(
      arrayOf(["exit3"]),
      T0 + 1,
      run("again", again),
      run("again", { ...again, ...ENDS.well }),
    );
    expect(told(at(state, T0 + 1, waits("success")))).toEqual([body("success")]);
    expect(told(loaded(at(state, T0 + 1, waits("success"))))).toEqual([body("success")]);
  });

  test("does not wait for a run of it that came later, and may wait for it in turn", () => {
    const follows = at(arrayOf(["exit3", "live"]), T0, waits("any"));
    const again = { ...of(0, 2), submittedAt: T0 + 1, wants: "nothing", deferred: true } as const;
    const state = at(follows, T0 + 1, run("again", again), run("parts-1", { ...of(1, 2), ...ENDS.well }));
    expect(told(state)).toEqual([body("any")]);
    expect(told(loaded(state))).toEqual([body("any")]);
    const ended = at(state, T0 + 1, run("again", { ...again, ...ENDS.well, deferred: undefined }));
    const failure = at(ended, T0 + 1, waits("failure", { run: "last", submittedAt: T0 + 1 }));
    expect(told(failure).find((one) => one.run === "last")).toMatchObject({ unmet: { text: "ended well" } });
  });

  test("sees the same as others that came between the same runs of it, so that it is found once", () => {
    const state = at(arrayOf(["live", "live"]), T0, waits("any"), waits("any", { run: "other" }));
    const again = { ...of(0, 2), submittedAt: T0 + 1 };
    const { arrays } = at(state, T0 + 1, run("again", again), run("again-2", again)).memo.index;
    const rows = [...(arrays.followed.get("default parts")?.values() ?? [])];
    expect(rows.map((row) => row.run)).toEqual(["next", "other"]);
    const [next, other] = rows.map((row) => arrays.membersFor(row, "parts"));
    expect(next).toBe(other);
    expect(next).not.toBe(arrays.membersOf("default", "parts"));
  });

  test("counts runs that seem to have come later if there are no others: a clock may have gone back", () => {
    const state = at(arrayOf(["well", "exit3"]), T0, waits("success"));
    for (const row of [...state.runs.live()])
      if (row.run === "next")
        state.runs.set(`${String(T0).padStart(15, "0")}/next`, { ...row, arrival: 1 }, T0);
    expect(told(state)).toEqual([body("success", because("parts-1", "ended with exit code 3"))]);
  });

  test("case 21: waits for the largest array by one entry of its row", () => {
    const state = at(largest(), T0, waits("success"));
    expect(rowOf(state, "next")?.awaitsArrays).toHaveLength(1);
    expect(told(state)).toEqual([]);
    const last = at(state, T0, run("parts-999", { ...of(999, MAX_ARRAY_RUNS), ...ENDS.exit3 }));
    expect(told(last)).toEqual([body("success", because("parts-999", "ended with exit code 3"))]);
  });
});

describe("an array with `failAt`", () => {
  const REASON = '1 of the 3 runs of its array, "parts", has failed, and its `failAt` is 1: parts-1';

  test("has the rest of it asked to end, with all grace, until each has confirmed it", () => {
    const state = arrayOf(["live", "exit3", "live"], { failAt: 1 });
    const rest = ["parts-0", "parts-2"].map((name) => {
      return { run: name, submittedAt: T0, reason: REASON, by: "drover", graceful: true };
    });
    expect(asked(state)).toEqual(rest);
    expect(asked(loaded(state))).toEqual(rest);
    const [first] = rest;
    if (first === undefined) throw new Error("nobody is asked");
    const stopping = { version: 2, wants: "nothing", epoch: 1 } as const;
    const answer: PoolEvent = {
      type: "end_run_answered",
      sent: first,
      answer: { kind: "run", run: upsert("parts-0", { ...of(0, 3, { failAt: 1 }), ...stopping }) },
    };
    expect(asked(at(state, T0, answer)).map((one) => one.run)).toEqual(["parts-2"]);
  });

  test("case 22: of the largest array, one failure ends all others, and each is told which it was", () => {
    const size = MAX_ARRAY_RUNS;
    const exit3 = { ...of(77, size, { failAt: 1 }), ...ENDS.exit3 };
    const state = at(largest({ failAt: 1 }), T0, run("parts-77", exit3));
    const all = asked(state);
    expect(all).toHaveLength(size - 1);
    const reason = `1 of the ${size} runs of its array, "parts", has failed, and its \`failAt\` is 1`;
    expect(new Set(all.map((one) => one.reason))).toEqual(new Set([`${reason}: parts-77`]));
    // Runs that come with a later batch are not placed first, to be ended then.
    const begun = [0, 1].map((index) => run(`parts-${index}`, of(index, size, { failAt: 1 })));
    const bad = run("parts-0", { ...of(0, size, { failAt: 1 }), ...ENDS.exit3 });
    const later = run("parts-5000", of(5_000, size, { failAt: 1 }));
    const partly = at(configured({}, [], [workerRow("w1")]), T0, tick, ...begun, bad, later);
    expect(rowOf(partly, "parts-5000")?.opened).toBe(0);
    expect(asked(partly).map((one) => one.run)).toEqual(["parts-1", "parts-5000"]);
  });

  test("gives no place to a run of it that comes later, and says why", () => {
    const late = run("parts-2", of(2, 3, { failAt: 1 }));
    const begun = [0, 1].map((index) => run(`parts-${index}`, of(index, 3, { failAt: 1 })));
    const bad = run("parts-1", { ...of(1, 3, { failAt: 1 }), ...ENDS.exit3 });
    const state = at(configured({}, [], [workerRow("w1")]), T0, tick, ...begun, bad, late);
    expect(rowOf(state, "parts-2")?.opened).toBe(0);
    expect(explainRun(state, "parts-2", T0)).toMatchObject({
      reason: { code: "array_failed", text: `${REASON}; so it is being ended` },
      next: { code: "end" },
    });
  });

  test.each<[string, string[], object]>([
    ["fewer have failed", ["live", "exit3", "live"], { failAt: 2 }],
    ["a smaller share has failed", ["live", "exit3", "live"], { failAt: "34%" }],
    ["others were only aborted", ["live", "aborted", "aborted"], { failAt: 1 }],
    ["it has no such limit", ["live", "exit3", "exit3"], {}],
  ])("goes on while %s", (_what, ends, more) => {
    expect(asked(arrayOf(ends, more))).toEqual([]);
  });

  test("does not end what runs again, since a rerun leaves the limit out", () => {
    const state = arrayOf(["exit3", "exit3", "exit3"], { failAt: 1 });
    const again = at(state, T0 + MINUTE, run("again", { ...of(0, 3), submittedAt: T0 + MINUTE }));
    expect(asked(again, T0 + MINUTE)).toEqual([]);
    expect(rowOf(again, "again", T0 + MINUTE)).toMatchObject({ worker: "w1" });
  });

  test.each<[number | string, number, number]>([
    [1, 9, 1],
    ["1%", 1, 1],
    ["10%", 9, 1],
    ["10%", 11, 2],
    ["50%", 4, 2],
    ["100%", 1_000, 1_000],
  ])("of %s among %i is reached by %i", (failAt, size, limit) => {
    expect(failLimit({ failAt, size })).toBe(limit);
  });

  test.each([0, -1, 1.5, MAX_ARRAY_RUNS + 1, "0%", "101%", "5", "x", ""])("cannot be %j", (failAt) => {
    expect(RunArray.safeParse({ id: "a", index: 0, size: 1, failAt }).success).toBe(false);
  });
});
