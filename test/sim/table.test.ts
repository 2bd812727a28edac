import { describe, expect, test } from "vitest";
import { MapDisk } from "../core/support/map-disk.ts";
import { Chance } from "./rng.ts";
import { Table } from "./table.ts";

interface Row {
  at: number;
  number: number;
  live: boolean;
  of: string;
}

const CHANGES = 3_000;
const KEYS = 40;

/** All that an object can read. What is sorted by a number has no two rows with the same one. */
function readAll(disk: Table<Row> | MapDisk<Row>, upTo: string, number: number) {
  const sort = { field: "of", values: ["a"], others: false };
  return {
    row: disk.read(upTo),
    live: [...disk.readLive()],
    ended: [...disk.readEnded(5)],
    spans: disk.endedSpans("of"),
    latestEnded: disk.readLatestEnded("number", 5),
    highest: disk.highest("number"),
    lowest: disk.lowest("at", "number", number),
    sums: disk.sums("number", "of"),
    above: [...disk.readAbove("number", number, upTo, 7)],
    hasMoreThan: disk.hasMoreThan(KEYS / 2),
    hasFrom: disk.hasFrom(upTo),
    beyond: disk.beyond(sort, { rows: 3, bytes: 200 }),
    count: disk.count(sort, "05", upTo),
    hasForgettable: disk.hasForgettable(number),
  };
}

describe("a table of a simulated object (shell.md#what-the-simulator-holds)", () => {
  test("reads the same as one without any index, whatever is written and removed", () => {
    const chance = new Chance(7);
    const rows = new Map<string, Row>();
    const [table, plain] = [new Table<Row>(rows), new MapDisk<Row>()];
    const disks = [table, plain];
    for (let number = 1; number <= CHANGES; number += 1) {
      const key = String(chance.between(1, KEYS)).padStart(2, "0");
      const row = {
        at: chance.between(1, CHANGES),
        number,
        live: chance.chance(0.5),
        of: "ab"[number % 2] ?? "",
      };
      const what = chance.between(1, 100);
      for (const disk of disks) {
        if (what === 1) disk.forget(number / 2);
        else if (what === 2) disk.removeUpTo(key, { field: "of", values: ["b"], others: false });
        else if (what === 3) disk.removeUpTo("");
        else if (what < 25) disk.remove(key);
        else disk.write(key, row, row.live, number);
      }
      expect(readAll(table, key, number - 50)).toEqual(readAll(plain, key, number - 50));
      expect([...rows.keys()]).toEqual([...plain.rows.keys()]);
    }
  });

  test("tells who watches it of each key that is written or removed", () => {
    const told: string[] = [];
    const table = new Table<Row>(new Map());
    table.watcher = (key) => told.push(key);
    table.write("1", { at: 1, number: 1, live: true, of: "a" }, true);
    table.remove("2");
    table.remove("1");
    expect(told).toEqual(["1", "1"]);
  });
});
