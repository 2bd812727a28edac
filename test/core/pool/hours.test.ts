import { describe, expect, test } from "vitest";
import { poolMachine } from "../../../src/core/pool/machine.ts";
import type { HourRow } from "../../../src/core/pool/past/hour-record.ts";
import { HOUR_MS, HOURS_KEPT, hourKey } from "../../../src/core/pool/past/hours.ts";
import { poolSamples, poolTallies } from "../../../src/core/pool/past/hours-read.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import { PoolSamples, PoolTallies } from "../../../src/schema/pool/past.ts";
import { MapDisk } from "../support/map-disk.ts";
import {
  configured,
  existing,
  hoursTable,
  MINUTE,
  placed,
  run,
  T0,
  vcpus,
  waiting,
  workerRow,
} from "../support/pool.ts";

// T0 is half past an hour.
const HOUR = T0 - 30 * MINUTE;
const PRICED = { type: { vcpus: 4, memory: "8GiB", disk: "0", gpus: 0, price: 2 } };

/** A pool, with the table of its hours. */
function story(runs = [placed("a", "w1", vcpus(1))], workers = [workerRow("w1", "ready", PRICED)]) {
  const disk = new MapDisk<HourRow>();
  const state: Configured = { ...configured({ maxInstances: 0 }, runs, workers), hours: hoursTable(disk) };
  return { state, disk };
}

/** The pool after a look at `now`, with what it stores written. */
function look(state: Configured, now: number): Configured {
  const next = existing(poolMachine.apply(state, { type: "look" }, now));
  next.hours.flush();
  return next;
}

const samplesOf = ({ record }: Configured) => record.hour?.samples ?? [];
const ends = (id: string, exitCode = 0) =>
  run(id, { version: 3, state: "complete", wants: "nothing", ended: 1, epoch: 0, exitCode });
const all = { since: 0, until: Number.MAX_SAFE_INTEGER };

describe("what a pool keeps of each hour (pool.md#hours)", () => {
  test("a look says how the pool is", () => {
    const { state } = story([
      placed("a", "w1", vcpus(1)),
      waiting("b", { ...vcpus(4), submittedAt: T0 - 5_000 }),
    ]);
    expect(samplesOf(look(state, T0))).toEqual([
      {
        at: T0,
        queued: 1,
        oldestAgeMs: 5_000,
        pending: 2,
        running: 0,
        machines: { running: 1 },
        filled: 0.25,
        perHour: 2,
        unpriced: 0,
      },
    ]);
  });

  test("there is one sample a minute, however often it is looked at", () => {
    const looks = [0, 1_000, 29_999, MINUTE, 5 * MINUTE].map((ms) => T0 + ms);
    const state = looks.reduce(look, story().state);
    expect(samplesOf(state).map(({ at }) => at)).toEqual([T0, T0 + MINUTE, T0 + 5 * MINUTE]);
  });

  test.each([
    ["is empty", () => story([], [])],
    [
      "has a machine of one's own that is idle",
      () => story([], [workerRow("w1", "ready", { kind: "self-hosted" })]),
    ],
    ["has runs that have ended", () => story([waiting("a", { state: "complete", wants: "nothing" })], [])],
  ])("nothing changes in a pool that %s, so nothing is stored (budgets.md#hours)", (_what, pool) => {
    const { state, disk } = pool();
    const record = look(state, T0).record;
    expect(look(existing({ ...state, record }), T0 + 3 * HOUR_MS).record).toBe(record);
    expect(record.hour?.samples ?? []).toEqual([]);
    expect(disk.rows.size).toBe(0);
  });

  test("an event that is no look takes no sample: a run costs no row for this (budgets.md#a-hot-run)", () => {
    const { state } = story();
    expect(poolMachine.apply(state, ends("a"), T0).record?.hour).toBeUndefined();
    expect(poolMachine.apply(state, { type: "tick" }, T0).record?.hour).toBeUndefined();
  });

  test("an hour becomes a row at the first look after it, with what has ended in it", () => {
    const { state, disk } = story();
    const ended = existing(poolMachine.apply(look(state, T0), ends("a"), T0 + MINUTE));
    const closed = look(look(ended, T0 + 2 * MINUTE), T0 + HOUR_MS);
    const row = disk.rows.get(hourKey(HOUR))?.row;
    expect(row).toMatchObject({ at: HOUR, counts: { "ended complete": 1 } });
    expect(row?.samples.map(({ at }) => at)).toEqual([T0, T0 + 2 * MINUTE]);
    expect(closed.record.hour).toMatchObject({ at: HOUR + HOUR_MS });
    expect(samplesOf(closed)).toHaveLength(1);
  });

  test("runs that came and went between two looks are counted, though nothing is there any more", () => {
    const { state } = story([waiting("a")], []);
    const ended = existing(poolMachine.apply(look(state, T0), ends("a"), T0 + 1_000));
    const seen = look(ended, T0 + 5 * MINUTE);
    expect(samplesOf(seen)).toHaveLength(2);
    expect(look(seen, T0 + 10 * MINUTE).record).toBe(seen.record);
    const [tally] = poolTallies(seen, all, { stored: [], limit: 9 }).items;
    expect(tally?.ended).toEqual({ complete: 1 });
  });

  test("what is counted after hours without news counts for the hour of the look", () => {
    const { state, disk } = story([waiting("a")], []);
    const quiet = existing({ ...state, record: look(story([], []).state, T0).record });
    const late = T0 + 5 * HOUR_MS;
    look(existing(poolMachine.apply(quiet, ends("a"), late)), late + MINUTE);
    expect(disk.rows.size).toBe(0);
  });

  test("an hour has sixty samples at most, even if the clock was set back", () => {
    const day = 24 * HOUR_MS;
    const before = look(story().state, T0 + day);
    const looks = Array.from({ length: 70 }, (_, minute) => T0 + minute * MINUTE);
    expect(samplesOf(looks.reduce(look, before))).toHaveLength(60);
  });

  test("the table is a ring of 30 days: an hour overwrites the one before it at its place", () => {
    expect(HOURS_KEPT * HOUR_MS).toBe(30 * 24 * HOUR_MS);
    expect(hourKey(HOUR + HOURS_KEPT * HOUR_MS)).toBe(hourKey(HOUR));
    const keys = Array.from({ length: HOURS_KEPT }, (_, hour) => hourKey(HOUR + hour * HOUR_MS));
    expect(new Set(keys).size).toBe(HOURS_KEPT);
  });

  test("a pool of an earlier version begins to count with its first look", () => {
    const { state } = story();
    const counted = existing(poolMachine.apply(state, ends("a"), T0));
    const first = look(counted, T0 + 1_000);
    expect(poolTallies(first, all, { stored: [], limit: 9 }).items[0]?.ended).toEqual({});
  });

  test("an hour that a version without exit codes began says nothing of them; the next one does", () => {
    const { state, disk } = story();
    const counted = existing(poolMachine.apply(state, ends("a", 1), T0));
    const { exits: _, ...old } = look(state, T0 + 1_000).record.hour ?? expect.fail("no hour");
    const upgraded = { ...counted, record: { ...counted.record, hour: old } };
    const looked = look(upgraded, T0 + 2 * MINUTE);
    const exits = (of: Configured, stored: HourRow[]) =>
      poolTallies(of, all, { stored, limit: 9 }).items.map(({ failedExits }) => failedExits);
    expect(exits(looked, [])).toEqual([undefined]);
    const later = look(looked, T0 + HOUR_MS);
    const ended = existing(poolMachine.apply(later, ends("b", 1), T0 + HOUR_MS + MINUTE));
    const last = look(ended, T0 + HOUR_MS + 2 * MINUTE);
    expect(
      exits(
        last,
        [...disk.rows.values()].map(({ row }) => row),
      ),
    ).toEqual([undefined, 1]);
  });
});

describe("what is told of the hours (api.md#past-of-a-pool)", () => {
  const hour = (n: number, counts = {}): HourRow => ({
    at: HOUR - n * HOUR_MS,
    counts,
    samples: samplesOf(look(story().state, HOUR - n * HOUR_MS + MINUTE)),
  });

  test("samples of the span alone, in the order of time, with the hour that is open", () => {
    const { state } = story();
    const open = look(state, T0);
    const list = poolSamples(
      open,
      { since: HOUR - 30 * MINUTE, until: T0 + 1 },
      { stored: [hour(1)], limit: 9 },
    );
    expect(list.items.map(({ at }) => Date.parse(at))).toEqual([T0]);
    const more = poolSamples(open, all, { stored: [hour(2), hour(1)], limit: 9 });
    expect(more.items).toHaveLength(3);
    expect(more.next).toBeNull();
    expect(PoolSamples.safeParse(more).error).toBeUndefined();
  });

  test("an answer ends with a whole hour, and `next` is the beginning of the next one", () => {
    const { state } = story();
    const stored = [hour(3), hour(2), hour(1)];
    const page = poolSamples(state, all, { stored, limit: 2 });
    expect(page.items).toHaveLength(2);
    expect(page.next).toBe(new Date(HOUR - HOUR_MS).toISOString());
    const open = look(state, T0);
    expect(poolTallies(open, all, { stored, limit: 3 }).next).toBe(new Date(HOUR).toISOString());
  });

  test("counts by the words of the API", () => {
    const counts = {
      "ended complete": 3,
      "ended failed": 1,
      "exits failed": 2,
      restarts: 2,
      "start times": 4,
      "start seconds": 1.5,
      "created success": 5,
      "created failure": 6,
      "boot success": 3,
      "boot failure": 1,
      "boot disappeared": 1,
      "disappeared booting": 1,
      "disappeared shutdown": 2,
      spent: 0.25,
    };
    const stored: HourRow[] = [{ ...hour(1, counts), exits: true }];
    const list = poolTallies(story().state, all, { stored, limit: 9 });
    expect(PoolTallies.parse(list).items).toEqual([
      {
        from: new Date(HOUR - HOUR_MS).toISOString(),
        to: new Date(HOUR).toISOString(),
        ended: { complete: 3, failed: 1 },
        failedExits: 2,
        restarts: 2,
        started: { runs: 4, seconds: 1.5 },
        machines: { created: 5, refused: 6, ready: 3, failed: 2, gone: 3 },
        spent: 0.25,
      },
    ]);
  });
});
