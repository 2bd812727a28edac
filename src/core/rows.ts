// How does a machine keep a table with only its live rows in memory?
import type { Instant } from "../shared/machine.ts";

/**
 * Storage of a table: SQLite in a Durable Object, a map in the simulator. All calls are synchronous and take
 * effect with the commit around them.
 */
export interface RowDisk<Row> {
  read(key: string): Row | undefined;
  readLive(): Iterable<[string, Row]>;
  /**
   * Rows that are not live, ordered by key, read as far as they are asked for. With `except`: without those
   * whose number in that field is above `above`.
   */
  readEnded(limit: number, except?: Except): Iterable<[string, Row]>;
  /**
   * The rows that are not live, have this text at this place (`array.id`), and a key within the span; the
   * highest key first. They are read as far as they are asked for.
   */
  readEndedWith(place: string, text: string, span: KeySpan): Iterable<[string, Row]>;
  /** For each text at this place: the keys of its first and its last row that is not live. Reads all rows. */
  endedSpans(place: string): Map<string, Bounds>;
  /** Of the rows that are not live, the rows with the highest numbers in a field, highest first. */
  readLatestEnded(field: string, limit: number): [string, Row][];
  write(key: string, row: Row, live: boolean, at: Instant): void;
  remove(key: string): void;
  /** The highest number that any row has in a field; 0 without rows. */
  highest(field: string): number;
  /** By the text in `by`: the sum of the numbers in `field`, of all rows. Reads the whole table. */
  sums(field: string, by: string): Map<string, number>;
  /** The lowest number in `field` of the rows whose number in `by` is at least `atLeast`, live or not. */
  lowest(field: string, by: string, atLeast: number): number | undefined;
  /**
   * At most `limit` rows, live or not, whose key is `from` or follows it, and whose number in the field is
   * above `above`. Ordered by that number.
   */
  readAbove(field: string, above: number, from: string, limit: number): Iterable<Row>;
  /** Removes rows that are not live and whose `at` is not after `until`. */
  forget(until: Instant): void;
  /** Whether `forget` would remove a row. */
  hasForgettable(until: Instant): boolean;
  /** Whether there are more rows than this. */
  hasMoreThan(count: number): boolean;
  /** Whether there is a row, live or not, whose key is `from` or follows it. */
  hasFrom(from: string): boolean;
  /**
   * Of the rows of a sort, live or not: the highest key beyond the `rows` rows with the highest keys, and the
   * highest key beyond the rows with the highest keys that have `bytes` bytes together. Empty: there is none.
   */
  beyond(sort: RowSort, newest: { rows: number; bytes: number }): { rows: string; bytes: string };
  /** How many rows of a sort have a key above `after` that is at most `upTo`. */
  count(sort: RowSort, after: string, upTo: string): number;
  /** Removes the rows of a sort, or all, whose key is at most `upTo`. */
  removeUpTo(upTo: string, sort?: RowSort): void;
  /**
   * Of the rows that are not live, removes all but those with the highest keys: at most `count` rows, and at
   * most `bytes` of JSON in them.
   */
  keepEnded(count: number, bytes: number): void;
}

/** The lowest and the highest of some keys. */
export interface Bounds {
  first: string;
  last: string;
}

/** Keys that are `from` or follow it, and are below `below`. Absent: without that end. */
export interface KeySpan {
  from?: string | undefined;
  below?: string | undefined;
}

/** Rows whose number in a field is above this. The field can be within another: `parked.since`. */
export interface Except {
  field: string;
  above: number;
}

/** The rows whose text in a field is one of these; with `others`, all other rows. */
export interface RowSort {
  field: string;
  values: readonly string[];
  others: boolean;
}

/** Called at each change of a row. `before`: the row before the change, if it was in memory. */
export type RowWatcher<Row> = (key: string, before: Row | undefined, after: Row | undefined) => void;

/** Makes the row to write, for example with the number of its change added. */
export type RowStamp<Row> = (after: Row, before: Row | undefined, key: string, now: Instant) => Row;

/** A table as readers see it. */
export type ReadonlyRows<Row> = Pick<
  Rows<Row>,
  | "version"
  | "get"
  | "live"
  | "ended"
  | "inMemory"
  | "endedWith"
  | "latestEnded"
  | "above"
  | "hasFrom"
  | "derive"
  | "highest"
  | "lowest"
  | "sums"
  | "changes"
>;

/**
 * A table of immutable rows, changed in place, with only its live rows in memory.
 *
 * A pool has thousands of live runs and millions of ended ones: decisions iterate over live rows and look up
 * single ended rows. Changes stay in memory until `flush`, which the shell calls inside its commit, so that a
 * crash never stores half of an event.
 */
export class Rows<Row> {
  readonly #disk: RowDisk<Row>;
  readonly #isLive: (row: Row) => boolean;
  readonly #rows = new Map<string, Row>();
  /** The rows to write. `at`: when the row changed. `before`: the row at the latest flush, if in memory. */
  readonly #dirty = new Map<string, { at: Instant; before: Row | undefined }>();
  readonly #removed = new Set<string>();
  readonly #highest = new Map<string, number>();
  /** The live rows as a list, and the values derived from it. Each change clears both. */
  #list: readonly Row[] | undefined;
  readonly #derived = new Map<unknown, unknown>();
  #watcher: RowWatcher<Row> = () => {};
  #stamp: RowStamp<Row> = (after) => after;
  #forgetUntil: Instant | undefined;
  #removals: { upTo: string; sort?: RowSort | undefined }[] = [];
  #keepEnded: { count: number; bytes: number } | undefined;
  #version = 0;

  /** `isLive`: which rows stay in memory. `tracked`: the fields for which `highest` works. */
  constructor(disk: RowDisk<Row>, isLive: (row: Row) => boolean, tracked: (keyof Row & string)[] = []) {
    this.#disk = disk;
    this.#isLive = isLive;
    for (const [key, row] of disk.readLive()) this.#rows.set(key, row);
    for (const field of tracked) this.#highest.set(field, disk.highest(field));
  }

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  /** The row with this key, live or not. */
  get(key: string): Row | undefined {
    return this.#rows.get(key) ?? (this.#removed.has(key) ? undefined : this.#disk.read(key));
  }

  /** All live rows, in the order in which this process first saw them. */
  *live(): Generator<Row> {
    for (const row of this.#rows.values()) if (this.#isLive(row)) yield row;
  }

  /** The first `limit` stored rows that are not live, ordered by key, without some (`RowDisk`). */
  *ended(limit: number, except?: Except): Generator<[string, Row]> {
    for (const [key, row] of this.#disk.readEnded(limit + this.#removed.size, except)) {
      if (!this.#removed.has(key) && !this.#rows.has(key)) yield [key, row];
    }
  }

  /** All rows in memory with their keys: the live ones, and those that will be written at the next flush. */
  inMemory(): Iterable<[string, Row]> {
    return this.#rows;
  }

  /** The other rows, as `readEndedWith` of the disk finds them. */
  *endedWith(place: string, text: string, span: KeySpan): Generator<[string, Row]> {
    for (const [key, row] of this.#disk.readEndedWith(place, text, span))
      if (!this.#removed.has(key) && !this.#rows.has(key)) yield [key, row];
  }

  /** Between which keys the disk has rows that are not live, by the text at this place. */
  endedSpans(place: string): Map<string, Bounds> {
    return this.#disk.endedSpans(place);
  }

  /** Of the stored rows that are not live, the rows with the highest numbers in a field. */
  latestEnded(field: keyof Row & string, limit: number): Row[] {
    return this.#disk.readLatestEnded(field, limit).map(([, row]) => row);
  }

  /** The stored rows whose key is `from` or follows it, and whose number in the field is above `above`. */
  above(field: keyof Row & string, above: number, from: string, limit = Infinity): Iterable<Row> {
    return this.#disk.readAbove(field, above, from, limit);
  }

  /** Writes a row at the next flush. Setting the very same row again does nothing. */
  set(key: string, given: Row, now: Instant): void {
    const before = this.#rows.get(key);
    if (before === given) return;
    const row = this.#stamp(given, before, key, now);
    this.#removed.delete(key);
    this.#rows.set(key, row);
    this.#dirty.set(key, { at: now, before: (this.#dirty.get(key) ?? { before }).before });
    this.#changed();
    for (const [field, highest] of this.#highest) {
      const value = row[field as keyof Row]; // it is one of the tracked fields
      if (typeof value === "number" && value > highest) this.#highest.set(field, value);
    }
    this.#watcher(key, before, row);
  }

  /** Sets the only watcher of all later changes, for example to keep an index of the rows up to date. */
  watch(watcher: RowWatcher<Row>): void {
    this.#watcher = watcher;
  }

  /** Sets the function that makes the row to write from now on. */
  stampWith(stamp: RowStamp<Row>): void {
    this.#stamp = stamp;
  }

  /** The result of `make` for the live rows, cached until a row changes. */
  derive<Value>(make: (live: readonly Row[]) => Value): Value {
    this.#list ??= [...this.live()];
    if (!this.#derived.has(make)) this.#derived.set(make, make(this.#list));
    return this.#derived.get(make) as Value; // of the same `make`
  }

  #changed(): void {
    this.#version += 1;
    this.#list = undefined;
    this.#derived.clear();
  }

  /** The highest value of a tracked field in any row that was stored at the start, or set since. */
  highest(field: keyof Row & string): number {
    return this.#highest.get(field) ?? 0;
  }

  /**
   * By the text in a field: the sum of the numbers in another field, of all rows as they are now. Reads the
   * whole table, so call it rarely.
   */
  sums(field: keyof Row & string, by: keyof Row & string): Map<string, number> {
    const sums = this.#disk.sums(field, by);
    const add = (row: Row | undefined, sign: number) => {
      if (row === undefined || row === null) return;
      const name = String(row[by]);
      sums.set(name, (sums.get(name) ?? 0) + sign * Number(row[field]));
    };
    for (const key of new Set([...this.#dirty.keys(), ...this.#removed])) {
      add(this.#disk.read(key), -1);
      add(this.#rows.get(key), 1);
    }
    return sums;
  }

  /** The lowest number in a field of the stored rows whose number in another field is at least this. */
  lowest(field: keyof Row & string, by: keyof Row & string, atLeast: number): number | undefined {
    return this.#disk.lowest(field, by, atLeast);
  }

  /** At the next flush, removes rows that are not live and whose `at` is not after `until`. */
  forget(until: Instant): void {
    this.#forgetUntil = until;
  }

  /** Whether there are stored rows that are not live and whose `at` is not after `until`. */
  hasForgettable(until: Instant): boolean {
    return this.#disk.hasForgettable(until);
  }

  /** At the next flush, removes the rows of a sort, or all, whose key is at most `upTo`. For ended rows. */
  removeUpTo(upTo: string, sort?: RowSort): void {
    this.#removals.push({ upTo, sort });
  }

  /** Whether there are more stored rows than this. */
  hasMoreThan(count: number): boolean {
    return this.#disk.hasMoreThan(count);
  }

  /** Whether any stored row has this key, or one that follows it. */
  hasFrom(from: string): boolean {
    return this.#disk.hasFrom(from);
  }

  /** As `beyond` of the disk, of the stored rows. */
  beyond(sort: RowSort, newest: { rows: number; bytes: number }): { rows: string; bytes: string } {
    return this.#disk.beyond(sort, newest);
  }

  /** How many stored rows of a sort have a key above `after` that is at most `upTo`. */
  count(sort: RowSort, after: string, upTo: string): number {
    return this.#disk.count(sort, after, upTo);
  }

  /**
   * At the next flush, removes the rows that are not live, but for those with the highest keys: at most
   * `count` rows, and at most `bytes` of JSON in them.
   */
  keepEnded(count: number, bytes: number): void {
    this.#keepEnded = { count, bytes };
  }

  /** Removes a row at the next flush. */
  delete(key: string): void {
    const before = this.#rows.get(key);
    this.#rows.delete(key);
    this.#dirty.delete(key);
    this.#removed.add(key);
    this.#changed();
    this.#watcher(key, before, undefined);
  }

  /**
   * The rows that were set since the latest flush. `before`: the stored row, if any. `after`: the present
   * row.
   */
  *changes(): Generator<{ key: string; before: Row | undefined; after: Row }> {
    for (const [key, { before }] of this.#dirty) {
      const after = this.#rows.get(key);
      if (after !== undefined) yield { key, before: before ?? this.#disk.read(key), after };
    }
  }

  /** Whether `flush` has nothing to write or remove. */
  get isFlushed(): boolean {
    const changed = this.#dirty.size + this.#removed.size + this.#removals.length;
    return changed === 0 && this.#forgetUntil === undefined && this.#keepEnded === undefined;
  }

  /** Writes all changes. Returns the number of rows written. */
  flush(): number {
    let written = 0;
    for (const [key, { at }] of this.#dirty) {
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
    for (const { upTo, sort } of this.#removals) this.#disk.removeUpTo(upTo, sort);
    this.#removals = [];
    if (this.#keepEnded !== undefined) this.#disk.keepEnded(this.#keepEnded.count, this.#keepEnded.bytes);
    this.#keepEnded = undefined;
    return written;
  }
}
