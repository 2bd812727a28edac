import type { Bounds, Except, KeySpan, RowDisk, RowSort } from "../../src/core/rows.ts";
import { beyond, isExcepted, isOfSort, isWithin, spansOf } from "../core/support/map-disk.ts";

/**
 * A table on the disk of a simulated object. It knows which rows are live and how the keys of the others are
 * ordered, so that an object loads and looks as fast after a long story as at its beginning.
 */
export class Table<Row> implements RowDisk<Row> {
  readonly rows: Map<string, Row>;
  /** The live rows, in the order of `rows` unless one has come back to life. */
  #live = new Map<string, Row>();
  #isRevived = false;
  /** The keys of all other rows, in their order. */
  readonly #ended: string[] = [];
  /** Is told of the key of each row that is written or removed. */
  watcher: (key: string) => void = () => {};

  /** `rows`: where the rows are, which nobody else changes. */
  constructor(rows: Map<string, Row>) {
    this.rows = rows;
  }

  /** The highest key of the rows that are not live. */
  get lastEnded(): string | undefined {
    return this.#ended.at(-1);
  }

  read(key: string): Row | undefined {
    return this.rows.get(key);
  }

  readLive(): Iterable<[string, Row]> {
    if (this.#isRevived) this.#live = new Map([...this.rows].filter(([key]) => this.#live.has(key)));
    this.#isRevived = false;
    return this.#live;
  }

  *readEnded(limit: number, except?: Except): Generator<[string, Row]> {
    let found = 0;
    for (const key of this.#ended) {
      if (found === limit) return;
      const row = this.#rowOf(key);
      if (isExcepted(row, except)) continue;
      found += 1;
      yield [key, row];
    }
  }

  *readEndedWith(place: string, text: string, span: KeySpan): Generator<[string, Row]> {
    for (let at = this.#ended.length - 1; at >= 0; at -= 1) {
      const key = this.#ended[at] ?? "";
      const row = this.#rowOf(key);
      if (isWithin(key, row, place, text, span)) yield [key, row];
    }
  }

  endedSpans(place: string): Map<string, Bounds> {
    return spansOf(
      this.#ended.map((key): [string, Row] => [key, this.#rowOf(key)]),
      place,
    );
  }

  readLatestEnded(field: string, limit: number): [string, Row][] {
    return [...this.rows]
      .filter(([key]) => !this.#live.has(key))
      .sort(([, a], [, b]) => numberIn(b, field) - numberIn(a, field))
      .slice(0, limit);
  }

  lowest(field: string, by: string, atLeast: number): number | undefined {
    let lowest: number | undefined;
    for (const row of this.rows.values()) {
      const value = row[field as keyof Row];
      if (value === undefined || numberIn(row, by, -1) < atLeast) continue;
      if (lowest === undefined || Number(value) < lowest) lowest = Number(value);
    }
    return lowest;
  }

  sums(field: string, by: string): Map<string, number> {
    const sums = new Map<string, number>();
    for (const row of this.rows.values()) {
      const name = String(row[by as keyof Row]);
      sums.set(name, (sums.get(name) ?? 0) + numberIn(row, field));
    }
    return sums;
  }

  highest(field: string): number {
    let highest = 0;
    for (const row of this.rows.values()) highest = Math.max(highest, numberIn(row, field));
    return highest;
  }

  readAbove(field: string, above: number, from: string, limit: number): Row[] {
    const found: Row[] = [];
    for (const [key, row] of this.rows) if (key >= from && numberIn(row, field) > above) found.push(row);
    return found.sort((a, b) => numberIn(a, field) - numberIn(b, field)).slice(0, limit);
  }

  hasMoreThan(count: number): boolean {
    return this.rows.size > count;
  }

  hasFrom(from: string): boolean {
    for (const key of this.rows.keys()) if (key >= from) return true;
    return false;
  }

  beyond(sort: RowSort, newest: { rows: number; bytes: number }) {
    return beyond([...this.rows], sort, newest);
  }

  count(sort: RowSort, after: string, upTo: string): number {
    return [...this.rows].filter(([key, row]) => key > after && key <= upTo && isOfSort(row, sort)).length;
  }

  hasForgettable(until: number): boolean {
    return this.#ended.some((key) => numberIn(this.#rowOf(key), "at", until + 1) <= until);
  }

  write(key: string, row: Row, live: boolean): void {
    this.watcher(key);
    const isNew = !this.rows.has(key);
    const wasLive = this.#live.has(key);
    this.rows.set(key, row);
    if (live) {
      this.#live.set(key, row);
      if (isNew || wasLive) return;
      this.#isRevived = true;
      this.#removeEnded(key);
    } else if (isNew || wasLive) {
      this.#live.delete(key);
      this.#insertEnded(key);
    }
  }

  remove(key: string): void {
    if (!this.rows.delete(key)) return;
    this.watcher(key);
    if (!this.#live.delete(key)) this.#removeEnded(key);
  }

  removeUpTo(upTo: string, sort?: RowSort): void {
    if (upTo === "") return;
    for (const [key, row] of [...this.rows])
      if (key <= upTo && (sort === undefined || isOfSort(row, sort))) this.remove(key);
  }

  /** Removes nothing: no story has so many deliveries. */
  keepEnded(): void {}

  forget(until: number): void {
    for (const key of [...this.#ended])
      if (numberIn(this.#rowOf(key), "at", until + 1) <= until) this.remove(key);
  }

  #rowOf(key: string): Row {
    return this.rows.get(key) as Row; // each key of `#ended` has a row
  }

  #insertEnded(key: string): void {
    const last = this.lastEnded;
    if (last === undefined || last < key) this.#ended.push(key);
    else this.#ended.splice(this.#placeOf(key), 0, key);
  }

  #removeEnded(key: string): void {
    const place = this.#placeOf(key);
    if (this.#ended[place] === key) this.#ended.splice(place, 1);
  }

  /** The index of the first key that is not below this one. */
  #placeOf(key: string): number {
    let [from, to] = [0, this.#ended.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#ended[middle] ?? "") < key) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

function numberIn<Row>(row: Row, field: string, absent = 0): number {
  return Number(row[field as keyof Row] ?? absent);
}
