import { expect, test } from "vitest";
import { loadedPool } from "../../../src/core/pool/load.ts";
import { eventsAfter, hasEvents } from "../../../src/core/pool/read/events.ts";
import { isLiveRun, isLiveWorker, type RunRow, type WorkerRow } from "../../../src/core/pool/record.ts";
import type { ReadonlyConfigured } from "../../../src/core/pool/state.ts";
import { Rows } from "../../../src/core/rows.ts";
import { PoolEventList } from "../../../src/schema/pool/changes.ts";
import { auditTable } from "../support/audit.ts";
import { MapDisk } from "../support/map-disk.ts";
import {
  at,
  existing,
  hoursTable,
  recordOf,
  run,
  T0,
  upsert,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

function story() {
  const runs = new MapDisk<RunRow>();
  const workers = new MapDisk<WorkerRow>();
  workers.write("w1", workerRow("w1", "booting"), true, T0);
  const load = (record = recordOf(poolConfig({ maxInstances: 0 }))) =>
    existing(
      loadedPool(
        record,
        new Rows(runs, isLiveRun),
        new Rows(workers, isLiveWorker),
        auditTable(),
        hoursTable(),
      ),
    );
  return { load, state: at(load(), T0, run("a"), run("b")) };
}

const changesAfter = (state: ReadonlyConfigured, after: number | null) => eventsAfter(state, after, T0 + 99);
const ends = (id: string) =>
  run(id, { version: 3, state: "complete", wants: "nothing", ended: 1, epoch: 0, exitCode: 0 });
const told = (list: PoolEventList) =>
  list.items.map(({ run: one, worker }) => `${one?.id ?? worker?.id} ${one?.state ?? worker?.state}`);

test("it begins with all that lives, and what is read is what the API says", () => {
  const list = changesAfter(story().state, null);
  expect(told(list)).toEqual(["w1 booting", "a pending", "b pending"]);
  expect(PoolEventList.safeParse(list).error).toBeUndefined();
});

test("then each row comes once, as it is now: what was in between may be missing, the latest never", () => {
  const { state } = story();
  const { next } = changesAfter(state, null);
  expect(hasEvents(state, next)).toBe(false);
  const later = at(state, T0 + 5, workerSays("w1"), ends("a"));
  expect(hasEvents(later, next)).toBe(true);
  const list = changesAfter(later, next);
  expect(told(list)).toEqual(["w1 running", "b pending", "a complete"]);
  expect(changesAfter(later, list.next).items).toEqual([]);
});

test("a pool that was loaded again goes on where it was, with what has ended meanwhile", () => {
  const { state, load } = story();
  const { next } = changesAfter(state, null);
  const later = at(state, T0 + 5, workerSays("w1"), ends("a"));
  const again = load(later.record);
  expect(told(changesAfter(again, next))).toEqual(["w1 running", "b pending", "a complete"]);
  const end = changesAfter(again, next).next;
  expect(changesAfter(again, end).items).toEqual([]);
  expect(told(changesAfter(at(again, T0 + 9, ends("b")), end))).toEqual(["b complete"]);
});

test("numbers only grow, also over a restart and for many changes in one millisecond", () => {
  const { state, load } = story();
  const { items } = changesAfter(state, null);
  const again = at(load(state.record), T0 + 1, run("c"));
  const later = changesAfter(again, null).items.at(-1)?.number ?? 0;
  expect(new Set(items.map(({ number }) => number)).size).toBe(items.length);
  expect(later).toBeGreaterThan(items.at(-1)?.number ?? 0);
});

test("other labels and deletions are no events, but who waits for runs finds them (api.md#waiting)", () => {
  const { state } = story();
  const { next } = changesAfter(state, null);
  const later = at(state, T0 + 5, run("a", { version: 2, labels: { team: "x" } }));
  const { changes } = later.memo;
  changes.deleted("b", T0 + 5);
  expect(hasEvents(later, next)).toBe(false);
  expect([...changes.since(next)]).toEqual([
    { table: "label", key: "team" },
    { table: "deleted", key: "b" },
  ]);
  const last = changesAfter(later, next);
  expect(last.items).toEqual([]);
  expect(told(changesAfter(at(later, T0 + 9, ends("a")), last.next))).toEqual(["a complete"]);
});

test("a reader who was behind a run that is deleted now is past its change, and waits for the next", () => {
  const { state } = story();
  const { next } = changesAfter(state, null);
  const ended = at(state, T0 + 5, workerSays("w1"), ends("a"));
  const { next: behind } = changesAfter(ended, next);
  const later = at(ended, T0 + 9, ends("b"));
  const sent =
    [...later.runs.ended(9)].map(([, row]) => row).find(({ run: id }) => id === "b") ?? upsert("b");
  const deleted = at(later, T0 + 10, { type: "forget_answered", sent, answer: { kind: "forgotten" } });
  for (const after of [next, behind]) {
    const list = changesAfter(deleted, after);
    expect(told(list)).not.toContain("b complete");
    expect(hasEvents(deleted, list.next)).toBe(false);
  }
});

test("who reads all that lives takes nothing away from who is behind what has ended", () => {
  const { state, load } = story();
  const { next } = changesAfter(state, null);
  const later = at(state, T0 + 5, workerSays("w1"), ends("a"));
  const again = load(later.record);
  expect(told(changesAfter(again, null))).toEqual(["w1 running", "b pending"]);
  expect(told(changesAfter(again, next))).toEqual(["w1 running", "b pending", "a complete"]);
});

test("a reader cannot change a pool: that does not compile", () => {
  const read = ({ runs, memo }: ReadonlyConfigured) => {
    // @ts-expect-error: readers have no way to write a row
    runs.set;
    // @ts-expect-error: nor to number a change
    memo.changes.deleted;
    // @ts-expect-error: nor to move the queue
    memo.index.queue.push;
  };
  expect(() => read(story().state)).not.toThrow();
});
