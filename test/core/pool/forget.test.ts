import { describe, expect, test } from "vitest";
import type { RunUpsert } from "../../../src/core/messages.ts";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { type RunRow, runKey } from "../../../src/core/pool/record.ts";
import { FORGET_BATCH, FORGET_LOOK_MS, FORGET_NEXT_MS } from "../../../src/core/pool/rows/forget.ts";
import { answerRun } from "../../../src/core/pool/rows/runs.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import { at, configured, placed, pool, recordOf, T0, upsert, waiting } from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

const HOUR = 3_600_000;
const tick: PoolEvent = { type: "tick" };
const keep = { retention: { runs: "1h" } };

/** A run that ended `agoMs` before T0. */
function over(id: string, agoMs: number, more: Partial<RunRow> = {}): RunRow {
  const ended = { finishedAt: T0 - agoMs, heardAt: T0 - agoMs };
  const end = { state: "complete", wants: "nothing", ended: 1, ...ended } as const;
  return { ...placed(id, "w1", { submittedAt: T0 - 10 * HOUR }), ...end, ...more };
}

function forgets(state: Configured, now = T0): string[] {
  return poolMachine.due(state, now).flatMap((one) => (one.kind === "forget" ? [one.to] : []));
}

const answered = (row: RunUpsert, answer: object = { kind: "forgotten" }) =>
  ({ type: "forget_answered", sent: row, answer }) as PoolEvent;

describe("how long logs are kept, said with the word that no place is wanted (api.md#retention)", () => {
  test.each<[object, number | undefined]>([
    [{}, undefined],
    [{ retention: { runs: "1h" } }, undefined],
    [{ retention: { runs: "1h", logs: "1h" } }, undefined],
    [{ retention: { runs: "1h", logs: "59m" } }, HOUR - 60_000],
  ])("%j: %s", (config, keepLogsMs) => {
    const row = over("a", 0);
    const answer = answerRun(configured(config, [row]), row, T0);
    expect(answer).toEqual({
      kind: "none",
      version: row.version,
      ...(keepLogsMs === undefined ? {} : { keepLogsMs }),
    });
  });
});

describe("runs of an array on which something depends (pool.md#array-ends)", () => {
  const part = (index: number, more: object = {}) => ({ array: { id: "p", index, size: 40, ...more } });
  const old = Array.from({ length: FORGET_BATCH + 2 }, (_, i) => over(`p-${i}`, 2 * HOUR, part(i)));
  const others = [over("y", 2 * HOUR), over("z", 2 * HOUR)];
  const follower = waiting("next", {
    wants: "nothing",
    deferred: true,
    awaitsArrays: [{ array: "p", on: "any" }],
  });

  test.each<[string, RunRow]>([
    ["is followed", follower],
    ["may end early", waiting("p-39", part(39, { failAt: "100%" }))],
  ])("stay while it %s, and keep no others, until that is over", (_what, row) => {
    const live = waiting("p-38", part(38));
    const state = at(configured(keep, [...old, ...others, row, live]), T0, tick);
    expect(forgets(state)).toEqual(["y", "z"]);
    const alone = at(configured(keep, [...old, row, live]), T0, tick);
    expect([forgets(alone), poolMachine.wakeAt(alone)]).toEqual([[], T0 + HOUR]); // not each minute in vain
    const end = { version: 2, state: "aborted", wants: "nothing", finishedAt: T0 } as const;
    const { deferred: _, awaitsArrays: _arrays, ...said } = upsert(row.run, { ...row, ...end });
    const over = at(state, T0 + HOUR, { type: "run", body: said });
    expect(forgets(over, T0 + HOUR)).toHaveLength(FORGET_BATCH);
  });
});

test("runs of an array of which some were run again keep no others (pool.md#array-ends)", () => {
  const size = FORGET_BATCH;
  const part = (index: number) => ({ array: { id: "p", index, size: size + 1 } });
  const runs = (name: string) =>
    Array.from({ length: size }, (_, index) => over(`${name}-${index}`, 2 * HOUR, part(index)));
  const follower = waiting("next", {
    wants: "nothing",
    deferred: true,
    awaitsArrays: [{ array: "p", on: "any" }],
  });
  const live = waiting("p-last", part(size));
  const rows = [...runs("p"), ...runs("q"), ...runs("r"), over("z", 2 * HOUR), follower, live];
  expect(forgets(at(configured(keep, rows), T0, tick))).toEqual(["z"]);
});

describe("what a pool lets go (api.md#retention)", () => {
  test.each<[string, RunRow, boolean]>([
    ["one whose retention ends now", over("a", HOUR), true],
    ["one with a moment left", over("a", HOUR - 1), false],
    ["one that uses its place still (rule R3)", over("a", HOUR, { opened: 2 }), false],
    ["one that runs, however old", placed("a", "w1", { submittedAt: T0 - 10 * HOUR }), false],
    ["one that waits, however old", waiting("a", { submittedAt: T0 - 10 * HOUR }), false],
    ["P14: one whose end was heard long after it", over("a", 9 * HOUR, { heardAt: T0 - 1 }), false],
    [
      "one of which its owner knew nothing: since that was heard",
      over("a", 0, { finishedAt: null, heardAt: T0 - HOUR }),
      true,
    ],
  ])("%s", (_, row, goes) => {
    expect(forgets(at(configured(keep, [row]), T0, tick))).toEqual(goes ? ["a"] : []);
  });

  test("a configuration that says nothing of it keeps them for 7 days", () => {
    const rows = [over("a", 7 * 24 * HOUR), over("b", 7 * 24 * HOUR - 1)];
    const state = pool(recordOf(poolConfig()), rows);
    expect(forgets(at(state, T0, tick))).toEqual(["a"]);
  });

  const DAY = 24 * HOUR;
  const parked = (since: number) => ({ parked: { since, reason: "after one try: ended with exit code 2" } });

  test.each<[string, RunRow, boolean]>([
    ["for less than 30 days", over("a", 30 * DAY - 1, parked(T0 - 30 * DAY + 1)), false],
    ["for 30 days", over("a", 30 * DAY, parked(T0 - 30 * DAY)), true],
    ["no more, since it was redriven", over("a", 2 * DAY, { parked: null }), true],
  ])("a run that is parked %s (retry.md#parked)", (_, row, goes) => {
    expect(forgets(at(configured(keep, [row]), T0, tick))).toEqual(goes ? ["a"] : []);
  });

  test("as many parked runs as there are do not hide the others", () => {
    const waiting = Array.from({ length: 2 * FORGET_BATCH }, (_, i) => {
      return over(`a-${String(i).padStart(3, "0")}`, DAY, parked(T0 - DAY));
    });
    expect(forgets(at(configured(keep, [...waiting, over("b", DAY)]), T0, tick))).toEqual(["b"]);
  });

  test("another retention counts at once", () => {
    const state = at(configured({ retention: { runs: "2h" } }, [over("a", HOUR)]), T0, tick);
    expect(forgets(state)).toEqual([]);
    const configure = { pool: "default", revision: 2, config: poolConfig(keep), seed: "s" };
    expect(forgets(at(state, T0, { type: "configure", body: configure }))).toEqual(["a"]);
  });

  test("it wakes by itself when the first of them is due, and not more often than once a minute", () => {
    const soon = at(configured(keep, [over("a", HOUR / 2), over("b", HOUR / 4)]), T0, tick);
    expect(poolMachine.wakeAt(soon)).toBe(T0 + HOUR / 2);
    const now = at(configured(keep, [over("a", HOUR - 1)]), T0, tick);
    expect(poolMachine.wakeAt(now)).toBe(T0 + FORGET_LOOK_MS);
    expect(poolMachine.wakeAt(at(configured(keep), T0, tick))).toBeUndefined();
  });

  test("of many it takes a few at a time, and goes on soon", () => {
    const rows = Array.from({ length: FORGET_BATCH + 1 }, (_, i) => over(`r${100 + i}`, 2 * HOUR));
    const state = at(configured(keep, rows), T0, tick);
    expect(forgets(state)).toHaveLength(FORGET_BATCH);
    expect(poolMachine.wakeAt(state)).toBe(T0 + FORGET_NEXT_MS);
    const rest = at(state, T0 + FORGET_NEXT_MS, ...rows.slice(0, FORGET_BATCH).map((row) => answered(row)));
    expect(forgets(at(rest, T0 + FORGET_NEXT_MS, tick), T0 + FORGET_NEXT_MS)).toEqual([
      `r${100 + FORGET_BATCH}`,
    ]);
  });
});

describe("a run that somebody wants deleted", () => {
  const unwanted = (row: RunUpsert): PoolEvent => ({ type: "unwanted", run: row, by: "admin" });

  test.each<[string, RunRow, boolean]>([
    ["goes before its time", over("a", 0), true],
    ["stays while it uses its place", over("a", 0, { opened: 2 }), false],
    ["stays while it has not ended", placed("a", "w1"), false],
  ])("%s", (_, row, goes) => {
    expect(forgets(at(configured({}, [row]), T0, unwanted(row)))).toEqual(goes ? ["a"] : []);
  });

  test("is not forgotten with the pool's memory: the wish is stored (rule R1)", () => {
    const state = at(configured({}, [over("a", 0)]), T0, unwanted(over("a", 0)));
    const rows = [...state.runs.live()];
    expect(forgets(at(configured({}, rows), T0, tick))).toEqual(["a"]);
  });

  test("one that is not known is nothing to the pool", () => {
    expect(forgets(at(configured(), T0, unwanted(upsert("a"))))).toEqual([]);
  });
});

describe("the row goes", () => {
  const row = over("a", HOUR);
  const key = runKey(row.submittedAt, row.run);
  const another = { kind: "run", run: upsert("a", { submittedAt: T0 }) };
  const itself = { kind: "run", run: upsert("a", { submittedAt: row.submittedAt }) };

  test.each<[string, object, boolean]>([
    ["when its owner has forgotten the run", { kind: "forgotten" }, true],
    ["when its owner is another submission under this id", another, true],
    ["not when its owner still has the run", itself, false],
  ])("%s", (_, answer, gone) => {
    const state = at(configured(keep, [row]), T0, tick);
    const after = at(state, T0, answered(row, answer));
    expect(after.runs.get(key) === undefined).toBe(gone);
    expect(forgets(after)).toEqual(gone ? [] : ["a"]);
  });

  test("what is told of it later and late brings no place back", () => {
    const state = at(configured(keep, [row]), T0, tick, answered(row));
    const late = at(state, T0, { type: "run", body: row });
    // For whom it was news, it is kept as long as any.
    const now = T0 + HOUR + FORGET_LOOK_MS;
    expect(forgets(at(late, now, tick), now)).toEqual(["a"]);
  });
});
