import type { Instant } from "./machine.ts";

/**
 * Where the rows of a table lie when nobody looks: SQLite in a Durable Object, a plain map in the simulator.
 * All calls are synchronous; they take effect together with the commit around them.
 */
export interface RowDisk<Row> {
  read(key: string): Row | undefined;
  readLive(): Iterable<[string, Row]>;
  /** Rows that are not live, in the order of their keys. */
  readEnded(limit: number): Iterable<[string, Row]>;
  write(key: string, row: Row, live: boolean, at: Instant): void;
  remove(key: string): void;
  /** The highest value that any row, live or not, has in a field of numbers; 0 if there is no row. */
  highest(field: string): number;
  /** Removes the rows that are not live and whose `at` is not after `until`. */
  forget(until: Instant): void;
}

/**
 * A table of immutable rows of which only the live ones are kept in memory.
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

  /** Writes a row at the next flush. Writing the very same row again costs nothing. */
  set(key: string, row: Row, now: Instant): void {
    if (this.#rows.get(key) === row) return;
    this.#removed.delete(key);
    this.#rows.set(key, row);
    this.#dirty.set(key, now);
    this.#version += 1;
    for (const [field, highest] of this.#highest) {
      const value = row[field as keyof Row]; // it is one of the tracked fields
      if (typeof value === "number" && value > highest) this.#highest.set(field, value);
    }
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
    this.#rows.delete(key);
    this.#dirty.delete(key);
    this.#removed.add(key);
    this.#version += 1;
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
