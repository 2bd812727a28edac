import type { Instant } from "../shared/machine.ts";

/**
 * Where the rows of a table lie when nobody looks: SQLite in a Durable Object, a plain map in the simulator.
 * All calls are synchronous; they take effect together with the commit around them.
 */
export interface RowDisk<Row> {
  read(key: string): Row | undefined;
  readLive(): Iterable<[string, Row]>;
  /** Rows that are not live, in the order of their keys. */
  readEnded(limit: number): Iterable<[string, Row]>;
  /** Of the rows that are not live those with the highest numbers in a field, the highest first. */
  readLatestEnded(field: string, limit: number): [string, Row][];
  write(key: string, row: Row, live: boolean, at: Instant): void;
  remove(key: string): void;
  /** The highest value that any row, live or not, has in a field of numbers; 0 if there is no row. */
  highest(field: string): number;
  /**
   * All rows, live or not, with keys from `from` on, whose number in a field is above `above`; the first so
   * many by that.
   */
  readAbove(field: string, above: number, from: string, limit: number): Iterable<Row>;
  /** Removes the rows that are not live and whose `at` is not after `until`. */
  forget(until: Instant): void;
}

/** Is told of each change of a row: what it was, if it was kept in memory, and what it is now. */
export type RowWatcher<Row> = (key: string, before: Row | undefined, after: Row | undefined) => void;

/** Makes of a row what is written: with the number of its change, for instance. */
export type RowStamp<Row> = (after: Row, before: Row | undefined, key: string, now: Instant) => Row;

/** A table as readers see it. */
export type ReadonlyRows<Row> = Pick<
  Rows<Row>,
  "version" | "get" | "live" | "ended" | "latestEnded" | "above" | "derive" | "highest"
>;

/**
 * A table, to be changed in place, of immutable rows of which only the live ones are kept in memory.
 *
 * A pool has thousands of live runs and millions of ended ones: a decision iterates over the first and looks
 * single ones up among the second. Changes stay in memory until `flush`, which the shell calls inside its
 * commit, so that a crash between two commits loses the whole event and never half of it.
 */
export class Rows<Row> {
  readonly #disk: RowDisk<Row>;
  readonly #isLive: (row: Row) => boolean;
  readonly #rows = new Map<string, Row>();
  readonly #dirty = new Map<string, Instant>();
  readonly #removed = new Set<string>();
  readonly #highest = new Map<string, number>();
  #list: { version: number; rows: readonly Row[] } | undefined;
  readonly #derived = new Map<unknown, { version: number; value: unknown }>();
  #watcher: RowWatcher<Row> = () => {};
  #stamp: RowStamp<Row> = (after) => after;
  #forgetUntil: Instant | undefined;
  #version = 0;

  /** `isLive`: which rows are kept in memory. `tracked`: the fields that `highest` can be asked of. */
  constructor(disk: RowDisk<Row>, isLive: (row: Row) => boolean, tracked: (keyof Row & string)[] = []) {
    this.#disk = disk;
    this.#isLive = isLive;
    for (const [key, row] of disk.readLive()) this.#rows.set(key, row);
    for (const field of tracked) this.#highest.set(field, disk.highest(field));
  }

  /** Grows with every change: whoever has seen this number has seen all rows as they are. */
  get version(): number {
    return this.#version;
  }

  /** The row with this key, live or not. */
  get(key: string): Row | undefined {
    return this.#rows.get(key) ?? (this.#removed.has(key) ? undefined : this.#disk.read(key));
  }

  /** All live rows, in the order in which they were first seen by this process. */
  *live(): Generator<Row> {
    for (const row of this.#rows.values()) if (this.#isLive(row)) yield row;
  }

  /** The first so many rows that are not live as they are stored, in the order of their keys. */
  *ended(limit: number): Generator<[string, Row]> {
    for (const [key, row] of this.#disk.readEnded(limit + this.#removed.size)) {
      if (!this.#removed.has(key) && !this.#rows.has(key)) yield [key, row];
    }
  }

  /** Of the rows that are not live as they are stored, those with the highest numbers in a field. */
  latestEnded(field: keyof Row & string, limit: number): Row[] {
    return this.#disk.readLatestEnded(field, limit).map(([, row]) => row);
  }

  /** The rows, live or not, with keys from `from` on, whose number in a field is above `above`, as stored. */
  above(field: keyof Row & string, above: number, from: string, limit = Infinity): Iterable<Row> {
    return this.#disk.readAbove(field, above, from, limit);
  }

  /** Writes a row at the next flush. Writing the very same row again costs nothing. */
  set(key: string, given: Row, now: Instant): void {
    const before = this.#rows.get(key);
    if (before === given) return;
    const row = this.#stamp(given, before, key, now);
    this.#removed.delete(key);
    this.#rows.set(key, row);
    this.#dirty.set(key, now);
    this.#version += 1;
    for (const [field, highest] of this.#highest) {
      const value = row[field as keyof Row]; // it is one of the tracked fields
      if (typeof value === "number" && value > highest) this.#highest.set(field, value);
    }
    this.#watcher(key, before, row);
  }

  /** Tells the one watcher of each change from now on: an index of rows follows them by that. */
  watch(watcher: RowWatcher<Row>): void {
    this.#watcher = watcher;
  }

  /** Each row is written as `stamp` makes it from now on. */
  stampWith(stamp: RowStamp<Row>): void {
    this.#stamp = stamp;
  }

  /** What `make` makes of the live rows; it is asked again only when a row has changed since. */
  derive<Value>(make: (live: readonly Row[]) => Value): Value {
    const known = this.#derived.get(make);
    if (known?.version === this.#version) return known.value as Value; // of the same `make`
    const value = make(this.#listed());
    this.#derived.set(make, { version: this.#version, value });
    return value;
  }

  /** The live rows as a list, which several derive from at the same version. */
  #listed(): readonly Row[] {
    if (this.#list?.version !== this.#version)
      this.#list = { version: this.#version, rows: [...this.live()] };
    return this.#list.rows;
  }

  /** The highest value that a tracked field has, or has had since this process began, in any row. */
  highest(field: keyof Row & string): number {
    return this.#highest.get(field) ?? 0;
  }

  /** At the next flush, forgets the rows that are not live and whose `at` is not after `until`. */
  forget(until: Instant): void {
    this.#forgetUntil = until;
  }

  /** Forgets a row at the next flush. */
  delete(key: string): void {
    const before = this.#rows.get(key);
    this.#rows.delete(key);
    this.#dirty.delete(key);
    this.#removed.add(key);
    this.#version += 1;
    this.#watcher(key, before, undefined);
  }

  /** Writes what has changed to the disk. Returns the number of rows written. */
  flush(): number {
    let written = 0;
    for (const [key, at] of this.#dirty) {
      const row = this.#rows.get(key);
      if (row === undefined) continue;
      const live = this.#isLive(row);
      this.#disk.write(key, row, live, at);
      if (!live) this.#rows.delete(key);
      written += 1;
    }
    this.#dirty.clear();
    for (const key of this.#removed) this.#disk.remove(key);
    written += this.#removed.size;
    this.#removed.clear();
    if (this.#forgetUntil !== undefined) this.#disk.forget(this.#forgetUntil);
    this.#forgetUntil = undefined;
    return written;
  }
}
