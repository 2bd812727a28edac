import type { Bounds, Except, KeySpan, RowDisk, RowSort } from "../../../src/core/rows.ts";
import type { Instant } from "../../../src/shared/machine.ts";

/** Whether a row is of this sort. */
export function isOfSort(row: unknown, { field, values, others }: RowSort): boolean {
  const text = String((row as Record<string, unknown>)[field]); // rows are objects
  return values.includes(text) !== others;
}

/** Whether a row is one that `readEndedWith` of a disk finds. */
export function isWithin(key: string, row: unknown, place: string, text: string, span: KeySpan): boolean {
  const { from = "", below } = span;
  if (key < from || (below !== undefined && key >= below)) return false;
  return textAt(row, place) === text;
}

/** As `endedSpans` of a disk, of these rows, which have not to be in order. */
export function spansOf(ended: Iterable<[string, unknown]>, place: string): Map<string, Bounds> {
  const spans = new Map<string, Bounds>();
  for (const [key, row] of ended) {
    const text = textAt(row, place);
    if (typeof text !== "string") continue;
    const { first, last } = spans.get(text) ?? { first: key, last: key };
    spans.set(text, { first: key < first ? key : first, last: key > last ? key : last });
  }
  return spans;
}

function textAt(row: unknown, place: string): unknown {
  let value = row;
  for (const name of place.split(".")) value = (value as Record<string, unknown> | undefined)?.[name];
  return value;
}

/** As `beyond` of a disk, of these rows. */
export function beyond(all: [string, unknown][], sort: RowSort, newest: { rows: number; bytes: number }) {
  const found = { rows: "", bytes: "" };
  let [count, bytes] = [0, 0];
  for (const [key, row] of all
    .filter(([, one]) => isOfSort(one, sort))
    .sort(([a], [b]) => (a < b ? 1 : -1))) {
    count += 1;
    bytes += Buffer.byteLength(JSON.stringify(row));
    if (count > newest.rows && found.rows === "") found.rows = key;
    if (bytes > newest.bytes && found.bytes === "") found.bytes = key;
  }
  return found;
}

/** One call that reached the disk. */
export type DiskCall =
  | { what: "write"; key: string; live: boolean; at: Instant }
  | { what: "remove"; key: string };

/** A disk of rows in memory that remembers what was written to it. */
export class MapDisk<Row> implements RowDisk<Row> {
  readonly rows = new Map<string, { row: Row; live: boolean }>();
  readonly calls: DiskCall[] = [];

  read(key: string): Row | undefined {
    return this.rows.get(key)?.row;
  }

  *readLive(): Generator<[string, Row]> {
    for (const [key, { row, live }] of this.rows) if (live) yield [key, row];
  }

  readEnded(limit: number, except?: Except): [string, Row][] {
    const ended = [...this.rows]
      .filter(([, { row, live }]) => !live && !isExcepted(row, except))
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return ended.slice(0, limit).map(([key, { row }]) => [key, row]);
  }

  readEndedWith(place: string, text: string, span: KeySpan): [string, Row][] {
    const ended = this.readEnded(Infinity).reverse();
    return ended.filter(([key, row]) => isWithin(key, row, place, text, span));
  }

  endedSpans(place: string): Map<string, Bounds> {
    return spansOf(this.readEnded(Infinity), place);
  }

  readLatestEnded(field: string, limit: number): [string, Row][] {
    const number = ([, row]: [string, Row]) => Number(row[field as keyof Row] ?? 0);
    return this.readEnded(Infinity)
      .sort((a, b) => number(b) - number(a))
      .slice(0, limit);
  }

  write(key: string, row: Row, live: boolean, at: Instant): void {
    this.calls.push({ what: "write", key, live, at });
    this.rows.set(key, { row, live });
  }

  remove(key: string): void {
    this.calls.push({ what: "remove", key });
    this.rows.delete(key);
  }

  highest(field: string): number {
    const values = [...this.rows.values()].map(({ row }) => Number(row[field as keyof Row] ?? 0));
    return Math.max(0, ...values);
  }

  sums(field: string, by: string): Map<string, number> {
    const sums = new Map<string, number>();
    for (const { row } of this.rows.values()) {
      const name = String(row[by as keyof Row]);
      sums.set(name, (sums.get(name) ?? 0) + Number(row[field as keyof Row] ?? 0));
    }
    return sums;
  }

  lowest(field: string, by: string, atLeast: number): number | undefined {
    const numbers = [...this.rows.values()]
      .filter(({ row }) => Number(row[by as keyof Row] ?? -1) >= atLeast)
      .flatMap(({ row }) => (row[field as keyof Row] === undefined ? [] : Number(row[field as keyof Row])));
    return numbers.length === 0 ? undefined : Math.min(...numbers);
  }

  readAbove(field: string, above: number, from: string, limit: number): Row[] {
    const number = (row: Row) => Number(row[field as keyof Row] ?? 0);
    const found = [...this.rows].filter(([key, { row }]) => key >= from && number(row) > above);
    return found
      .map(([, { row }]) => row)
      .sort((a, b) => number(a) - number(b))
      .slice(0, limit);
  }

  hasMoreThan(count: number): boolean {
    return this.rows.size > count;
  }

  hasFrom(from: string): boolean {
    return [...this.rows.keys()].some((key) => key >= from);
  }

  beyond(sort: RowSort, newest: { rows: number; bytes: number }) {
    return beyond(this.#all(), sort, newest);
  }

  count(sort: RowSort, after: string, upTo: string): number {
    return this.#all().filter(([key, row]) => key > after && key <= upTo && isOfSort(row, sort)).length;
  }

  removeUpTo(upTo: string, sort?: RowSort): void {
    for (const [key, row] of this.#all()) {
      if (key <= upTo && (sort === undefined || isOfSort(row, sort))) this.rows.delete(key);
    }
  }

  #all(): [string, Row][] {
    return [...this.rows].map(([key, { row }]) => [key, row]);
  }

  keepEnded(count: number, bytes: number): void {
    const latest = this.readEnded(Infinity).reverse();
    let size = 0;
    for (const [index, [key, row]] of latest.entries()) {
      size += Buffer.byteLength(JSON.stringify(row));
      if (index >= count || size > bytes) this.rows.delete(key);
    }
  }

  hasForgettable(until: Instant): boolean {
    return [...this.rows.values()].some(
      ({ row, live }) => !live && Number(row["at" as keyof Row] ?? until + 1) <= until,
    );
  }

  forget(until: Instant): void {
    for (const [key, { row, live }] of this.rows) {
      const at = Number(row["at" as keyof Row] ?? until + 1);
      if (!live && at <= until) this.rows.delete(key);
    }
  }
}

/** Whether a row is left out, by a number in a field that can be within another. */
export function isExcepted(row: unknown, except: Except | undefined): boolean {
  if (except === undefined) return false;
  const found = except.field.split(".").reduce<unknown>((at, name) => Object(at)[name], row);
  return Number(found ?? 0) > except.above;
}
