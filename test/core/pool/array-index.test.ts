import { expect, test } from "vitest";
import { ArrayIndex } from "../../../src/core/pool/arrays/array-index.ts";
import { type RunRow, runKey } from "../../../src/core/pool/record.ts";
import { Rows } from "../../../src/core/rows.ts";
import { MapDisk } from "../support/map-disk.ts";
import { placed, T0, waiting } from "../support/pool.ts";

// The runs of an array are looked for in the time of the array, and not among all that have ended
// (pool.md#array-ends).

const HOUR = 3_600_000;
const keyOf = (row: RunRow) => runKey(row.submittedAt, row.run);

/** A run of an array of three that ended, submitted so many hours after T0. */
function ended(run: string, array: string, index: number, hours: number): RunRow {
  const end = { state: "complete", wants: "nothing", ended: 1, finishedAt: T0 } as const;
  const row = placed(run, "w1", { submittedAt: T0 + hours * HOUR, array: { id: array, index, size: 3 } });
  return { ...row, ...end };
}

/** An index of these ended rows, and the keys of all rows that it reads one by one. */
function indexOf(rows: RunRow[], live: RunRow[] = []) {
  const disk = new MapDisk<RunRow>();
  for (const row of rows) disk.rows.set(keyOf(row), { row, live: false });
  for (const row of live) disk.rows.set(keyOf(row), { row, live: true });
  const read: string[] = [];
  let spans = 0;
  const table = new Rows(disk, () => true);
  const index = new ArrayIndex({
    inMemory: () => live.map((row): [string, RunRow] => [keyOf(row), row]),
    *endedWith(place, text, span) {
      // The disk reads all rows of the span, and compares.
      for (const row of rows) {
        const key = keyOf(row);
        if (key >= (span.from ?? "") && (span.below === undefined || key < span.below)) read.push(row.run);
      }
      yield* table.endedWith(place, text, span);
    },
    endedSpans(place) {
      spans += 1;
      return table.endedSpans(place);
    },
  });
  return { index, disk, read, spans: () => spans };
}

const others = [0, 1, 2, 3, 4, 5].map((hours) => ended(`other-${hours}`, `other-${hours}`, 0, hours));

test("a new array reads no row of what has ended, and the table is looked through once for all", () => {
  const arrays = ["new-1", "new-2", "new-3"];
  const live = arrays.map((id) => waiting(`${id}-0`, { array: { id, index: 0, size: 3, failAt: "1" } }));
  const { index, read, spans } = indexOf(others, live);
  for (const id of arrays) expect(index.membersOf("default", id).counts.live).toBe(1);
  expect([read, spans()]).toEqual([[], 1]);
});

test("an array reads what ended in its own time, also what ends later", () => {
  const parts = [ended("p-0", "p", 0, 2), ended("p-1", "p", 1, 3)];
  const { index, read } = indexOf([...others, ...parts].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)));
  expect(index.membersOf("default", "p")).toMatchObject({ size: 3, missing: 1, counts: { well: 2 } });
  expect(read).toEqual(["p-0", "other-3", "p-1"]);
});

test("an array whose first run ends after the table was looked through is found", () => {
  const { index, disk } = indexOf(others);
  expect(index.membersOf("default", "late").size).toBe(0);
  const late = ended("late-0", "late", 0, 4);
  disk.rows.set(keyOf(late), { row: late, live: false });
  index.follow(keyOf(late), undefined, late);
  expect(index.membersOf("default", "late").counts.well).toBe(1);
});

test("an array whose run has ended and is not written yet is found after that, too", () => {
  const disk = new MapDisk<RunRow>();
  const over = ended("b-0", "b", 0, 1);
  disk.rows.set(keyOf(over), { row: { ...over, state: "running" }, live: true });
  const table = new Rows<RunRow>(disk, ({ state }) => state === "running");
  const index = new ArrayIndex(table);
  table.set(keyOf(over), over, T0);
  index.follow(keyOf(over), { ...over, state: "running" }, over);
  expect(index.membersOf("default", "another").size).toBe(0);
  table.flush();
  expect([...table.inMemory()]).toEqual([]);
  expect(index.membersOf("default", "b").counts.well).toBe(1);
});
