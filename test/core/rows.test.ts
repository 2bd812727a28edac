import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Rows } from "../../src/core/rows.ts";
import { MapDisk } from "./support/map-disk.ts";

interface Row {
  live: boolean;
  n: number;
}

const alive = (n: number): Row => ({ live: true, n });
const dead = (n: number): Row => ({ live: false, n });

function table() {
  const disk = new MapDisk<Row>();
  const load = () => new Rows(disk, (row) => row.live);
  return { disk, load, rows: load() };
}

describe("changes reach the disk at the flush, and only then (shell.md#shell: one commit)", () => {
  test("a row that was set is there at once, and on the disk after the flush", () => {
    const { disk, rows } = table();
    rows.set("a", alive(1), 5);
    expect(rows.get("a")).toEqual(alive(1));
    expect(disk.calls).toEqual([]);
    expect(rows.flush()).toBe(1);
    expect(disk.calls).toEqual([{ what: "write", key: "a", live: true, at: 5 }]);
  });

  test("what a crash comes before is lost whole", () => {
    const { load, rows } = table();
    rows.set("a", alive(1), 0);
    rows.flush();
    rows.set("a", alive(2), 0);
    rows.set("b", alive(3), 0);
    expect([...load().live()]).toEqual([alive(1)]);
  });

  test("a row that changed twice costs one row, an unchanged one none", () => {
    const { rows } = table();
    const same = alive(2);
    rows.set("a", alive(1), 0);
    rows.set("a", same, 1);
    expect(rows.flush()).toBe(1);
    rows.set("a", same, 2);
    expect(rows.flush()).toBe(0);
  });
});

describe("only live rows stay in memory", () => {
  test("one that is over is written as such, found by its key, and no longer among the live", () => {
    const { disk, load, rows } = table();
    rows.set("a", alive(1), 0);
    rows.set("a", dead(2), 0);
    expect([...rows.live()]).toEqual([]);
    rows.flush();
    expect(disk.rows.get("a")).toEqual({ row: dead(2), live: false });
    expect(rows.get("a")).toEqual(dead(2));
    expect([...load().live()]).toEqual([]);
    expect(load().get("a")).toEqual(dead(2));
  });

  test("one that comes back to life is live again", () => {
    const { rows } = table();
    rows.set("a", dead(1), 0);
    rows.flush();
    rows.set("a", alive(2), 0);
    expect([...rows.live()]).toEqual([alive(2)]);
  });

  test("they come in the order in which they were first seen", () => {
    const { rows } = table();
    for (const [key, n] of [
      ["b", 1],
      ["a", 2],
      ["b", 3],
    ] as const)
      rows.set(key, alive(n), 0);
    expect([...rows.live()].map((row) => row.n)).toEqual([3, 2]);
  });
});

describe("a deleted row", () => {
  test("is gone before the flush already, and from the disk after it", () => {
    const { disk, rows } = table();
    rows.set("a", dead(1), 0);
    rows.flush();
    rows.delete("a");
    expect(rows.get("a")).toBeUndefined();
    expect(rows.flush()).toBe(1);
    expect(disk.rows.size).toBe(0);
    expect(rows.get("a")).toBeUndefined();
  });

  test("that is set again is there again", () => {
    const { disk, rows } = table();
    rows.set("a", alive(1), 0);
    rows.flush();
    rows.delete("a");
    rows.set("a", alive(2), 0);
    rows.flush();
    expect(disk.rows.get("a")?.row).toEqual(alive(2));
  });
});

describe("what is known of all rows, though only the live ones are in memory", () => {
  interface Numbered extends Row {
    at: number;
  }
  const numbered = (n: number, live: boolean, at = 0): Numbered => ({ n, live, at });

  function tracking() {
    const disk = new MapDisk<Numbered>();
    const load = () => new Rows(disk, (row: Numbered) => row.live, ["n"]);
    return { disk, load, rows: load() };
  }

  test("sums by another field are of all rows as they are now, over or not, flushed or not", () => {
    const { load, rows } = table();
    rows.set("a", alive(1), 0);
    rows.set("b", dead(2), 0);
    rows.set("c", dead(4), 0);
    rows.flush();
    rows.set("a", dead(8), 0);
    rows.set("d", alive(16), 0);
    rows.delete("b");
    const sums = new Map([
      ["true", 16],
      ["false", 12],
    ]);
    expect(rows.sums("n", "live")).toEqual(sums);
    rows.flush();
    expect(rows.sums("n", "live")).toEqual(sums);
    expect(load().sums("n", "live")).toEqual(sums);
  });

  test("the highest value of a tracked field, of rows that are over too, and over a reload", () => {
    const { load, rows } = tracking();
    expect(rows.highest("n")).toBe(0);
    rows.set("a", numbered(7, false), 0);
    rows.set("b", numbered(3, true), 0);
    expect(rows.highest("n")).toBe(7);
    rows.flush();
    expect(load().highest("n")).toBe(7);
  });

  test("it does not sink while this process lives, whatever is deleted or overwritten", () => {
    const { rows } = tracking();
    rows.set("a", numbered(7, true), 0);
    rows.set("a", numbered(2, true), 0);
    rows.delete("a");
    rows.flush();
    expect(rows.highest("n")).toBe(7);
  });

  test("a field that is not tracked has none", () => {
    const { rows } = tracking();
    rows.set("a", numbered(7, true, 9), 0);
    expect(rows.highest("at")).toBe(0);
  });

  test("what is to be forgotten goes with the next flush: rows that are over, up to that time", () => {
    const { rows } = tracking();
    rows.set("old", numbered(1, false, 10), 0);
    rows.set("young", numbered(1, false, 11), 0);
    rows.set("live", numbered(1, true, 1), 0);
    rows.flush();
    rows.forget(10);
    expect(rows.get("old")).toBeDefined();
    rows.flush();
    expect([rows.get("old"), rows.get("young"), rows.get("live")].map((row) => row?.at)).toEqual([
      undefined,
      11,
      1,
    ]);
  });

  test("it is forgotten once, and not again with each flush", () => {
    const { rows } = tracking();
    rows.forget(10);
    rows.flush();
    rows.set("late", numbered(1, false, 5), 0);
    rows.flush();
    rows.flush();
    expect(rows.get("late")).toBeDefined();
  });

  test("each change is another version, and what changes nothing is none", () => {
    const { rows } = tracking();
    const row = numbered(1, true);
    const versions = [
      () => rows.set("a", row, 0),
      () => rows.set("a", row, 1),
      () => rows.flush(),
      () => rows.set("a", numbered(2, true), 2),
      () => rows.delete("a"),
    ].map((change) => {
      change();
      return rows.version;
    });
    expect(versions).toEqual([1, 1, 1, 2, 3]);
  });
});

test("after any changes and flushes it is what a plain map would be, before and after a reload", () => {
  const key = fc.constantFrom("a", "b", "c");
  const step = fc.oneof(
    fc.record({
      what: fc.constant("set" as const),
      key,
      row: fc.record({ live: fc.boolean(), n: fc.nat(9) }),
    }),
    fc.record({ what: fc.constant("delete" as const), key }),
    fc.record({ what: fc.constant("flush" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const { load, rows } = table();
      const model = new Map<string, Row>();
      for (const one of steps) {
        if (one.what === "set") {
          rows.set(one.key, one.row, 0);
          model.set(one.key, one.row);
        } else if (one.what === "delete") {
          rows.delete(one.key);
          model.delete(one.key);
        } else rows.flush();
        for (const name of ["a", "b", "c"]) expect(rows.get(name)).toEqual(model.get(name));
        expect(new Set(rows.live())).toEqual(new Set([...model.values()].filter((row) => row.live)));
      }
      rows.flush();
      const again = load();
      for (const name of ["a", "b", "c"]) expect(again.get(name)).toEqual(model.get(name));
      expect(new Set(again.live())).toEqual(new Set([...model.values()].filter((row) => row.live)));
    }),
  );
});

describe("what is made of the rows follows them", () => {
  test("a derived value is made again when a row has changed, and only then", () => {
    const { rows } = table();
    let made = 0;
    const sum = (live: Iterable<Row>) => {
      made += 1;
      return [...live].reduce((total, row) => total + row.n, 0);
    };
    expect([rows.derive(sum), rows.derive(sum), made]).toEqual([0, 0, 1]);
    rows.set("a", alive(2), 0);
    expect([rows.derive(sum), rows.derive(sum), made]).toEqual([2, 2, 2]);
    rows.delete("a");
    expect([rows.derive(sum), made]).toEqual([0, 3]);
  });

  test("a watcher is told what each row was and is", () => {
    const { rows } = table();
    const told: unknown[] = [];
    rows.watch((...change) => told.push(change));
    const row = alive(1);
    rows.set("a", row, 0);
    rows.set("a", row, 0);
    rows.set("a", dead(2), 0);
    rows.delete("a");
    expect(told).toEqual([
      ["a", undefined, row],
      ["a", row, dead(2)],
      ["a", dead(2), undefined],
    ]);
  });
});
