// How are an object's value and its tables stored?
import type { Bounds, Except, KeySpan, RowDisk, RowSort } from "../core/rows.ts";
import type { Instant } from "../shared/machine.ts";
import { meter } from "./meter.ts";
import { readStored, STORED_VERSION, type Stored } from "./migrations.ts";
import { conditionOf, ofSort, type RowFilter } from "./reads/row-filters.ts";

const STATE_KEY = "state";

/**
 * Stores everything that an object knows as one value. A table schema would be billed for every new object
 * (platform.md#rows-written), so the value is not in a table. Only a changed value is written.
 */
export class ValueStore<Value> {
  readonly #storage: DurableObjectStorage;
  #stored: Value | null = null;
  #emptied = false;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  read(): Value | null {
    this.#stored = readStored(this.#storage.kv.get<Stored<Value>>(STATE_KEY));
    this.#emptied = false; // a commit that has removed it may have failed
    return this.#stored;
  }

  /** Whether this very value is stored; null: whether none is. */
  has(value: Value | null): boolean {
    return value === this.#stored;
  }

  write(value: Value): void {
    if (this.has(value)) return;
    this.#storage.kv.put<Stored<Value>>(STATE_KEY, { v: STORED_VERSION, value });
    this.#stored = value;
    meter.rowsWritten += 1;
  }

  /** Writes the value. Null: deletes it, and `sweep` deletes the rest of the storage after the commit. */
  set(value: Value | null): void {
    if (value === null) this.#remove();
    else this.write(value);
  }

  #remove(): void {
    if (this.#stored === null) return;
    this.#storage.kv.delete(STATE_KEY);
    this.#stored = null;
    this.#emptied = true;
    meter.rowsWritten += 1;
  }

  /**
   * After a commit that removed the value: empties the storage, so that the object costs nothing. Returns
   * whether it did.
   */
  sweep(): boolean {
    if (!this.#emptied) return false;
    this.#emptied = false;
    void this.#storage.deleteAll(); // not awaited: answers wait for it anyway
    return true;
  }
}

/** How many ended rows are read at a time, as far as somebody wants them. */
const ENDED_AT_ONCE = 64;

/** What `forget` removes. */
const FORGETTABLE = "live = 0 AND json_extract(v, '$.at') <= ?";

/** A value that a statement is given, and the columns of what it finds. */
type Bound = string | number;
type Columns = Record<string, SqlStorageValue>;

/** The tables of all kinds of objects. */
export type TableName =
  | "runs"
  | "workers"
  | "hours"
  | "placements"
  | "tokens"
  | "sessions"
  | "projects"
  | "webhooks"
  | "jobs"
  | "removed_jobs"
  | "versions"
  | "deliveries"
  | "audit"
  | "exchanged"
  | "trust"
  | "keys"
  | "secrets"
  | "data_keys";

/**
 * A table in the object's SQLite. Its columns are the key, whether the row is live, and the row as JSON. With
 * text keys and no row ids, each write is billed as one row. The first write creates the table, so an object
 * without state writes nothing (rule R6).
 */
export class SqlRowDisk<Row> implements RowDisk<Row> {
  readonly #sql: SqlStorage;
  readonly #table: string;
  #exists: boolean;

  constructor(sql: SqlStorage, table: TableName) {
    this.#sql = sql;
    this.#table = table;
    this.#exists = this.#isThere();
  }

  read(key: string): Row | undefined {
    const [found] = this.#select(`${this.#table} WHERE k = ?`, key);
    return found?.[1];
  }

  /** All live rows, at a load of the object. A commit that failed may have taken back the table. */
  readLive(): [string, Row][] {
    this.#exists = this.#isThere();
    return this.#select(`${this.#table} WHERE live = 1 ORDER BY k`);
  }

  *readEnded(limit: number, except?: Except): Generator<[string, Row]> {
    const others = except === undefined ? "" : "AND ifnull(json_extract(v, ?), 0) <= ?";
    const from = `${this.#table} WHERE live = 0 AND k > ? ${others} ORDER BY k LIMIT ?`;
    const bound = except === undefined ? [] : [`$.${except.field}`, except.above];
    let after = "";
    for (let left = limit; left > 0; ) {
      const asked = Math.min(left, ENDED_AT_ONCE);
      const rows = this.#select(from, after, ...bound, asked);
      yield* rows;
      if (rows.length < asked) return;
      left -= asked;
      after = rows.at(-1)?.[0] ?? after;
    }
  }

  *readEndedWith(place: string, text: string, span: KeySpan): Generator<[string, Row]> {
    const keys = `k >= ? ${span.below === undefined ? "" : "AND k < ?"}`;
    const sql = `SELECT k, v FROM ${this.#table} WHERE live = 0 AND ${keys} AND json_extract(v, ?) = ?
      ORDER BY k DESC`;
    const below = span.below === undefined ? [] : [span.below];
    const bound = [span.from ?? "", ...below, `$.${place}`, text];
    if (!this.#exists) return;
    // One after the other: somebody may not want all of them.
    const found = this.#sql.exec<{ k: string; v: string }>(sql, ...bound);
    for (const { k, v } of found) yield [k, this.#rowOf(v)];
  }

  endedSpans(place: string): Map<string, Bounds> {
    const ended = `SELECT k, json_extract(v, ?) AS text FROM ${this.#table} WHERE live = 0`;
    const sql = `SELECT text, min(k) AS first, max(k) AS last FROM (${ended})
      WHERE text IS NOT NULL GROUP BY 1`;
    const found = this.#all<{ text: string; first: string; last: string }>(sql, `$.${place}`);
    return new Map(found.map(({ text, first, last }) => [text, { first, last }]));
  }

  readLatestEnded(field: string, limit: number): [string, Row][] {
    const from = `${this.#table} WHERE live = 0 ORDER BY json_extract(v, ?) DESC LIMIT ?`;
    return this.#select(from, `$.${field}`, limit);
  }

  /**
   * Scans the `scan` rows with the highest keys. For each value of the field `group`, returns the row with
   * the highest `by`. `isAll`: the table has no further rows.
   */
  readHighestBy(group: keyof Row & string, by: keyof Row & string, scan: number) {
    const number = `json_extract(v, '$.${by}')`;
    const scanned = `SELECT v FROM ${this.#table} ORDER BY k DESC LIMIT ?`;
    // Beside `max`, SQLite returns `v` of the row that has the maximum.
    const sql = `SELECT v, max(${number}) FROM (${scanned}) WHERE ${number} IS NOT NULL
      GROUP BY json_extract(v, '$.${group}')`;
    const rows = this.#all<{ v: string }>(sql, scan).map(({ v }) => this.#rowOf(v));
    return { rows, isAll: !this.hasMoreThan(scan) };
  }

  /**
   * Scans the `scan` rows below the key `before`, highest first, and none below the key `floor`. Returns the
   * first `limit` rows that match all filters. `next`: the key to continue from; null: no more rows.
   * Filtering in SQL is many times faster than reading all rows.
   */
  readMatching(before: string, scan: number, limit: number, filters: RowFilter[], floor = "") {
    const below = `${this.#table} WHERE k < ? AND k >= ? ORDER BY k DESC LIMIT`;
    const conditions = filters.map(conditionOf);
    const where = ["1", ...conditions.map((condition) => condition.where)].join(" AND ");
    const from = `(SELECT k, v FROM ${below} ?) WHERE ${where} ORDER BY k DESC LIMIT ?`;
    const bound = conditions.flatMap((condition) => condition.bound);
    const rows = this.#select(from, before, floor, scan, ...bound, limit + 1);
    if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1]?.[0] ?? null };
    const [last] = this.#select(`${below} 1 OFFSET ?`, before, floor, scan - 1);
    return { rows, next: last?.[0] ?? null };
  }

  /**
   * For each instant (a path in JSON) of each row whose key is below `before`: the row, if the instant is not
   * before `since` and before `until`. At most `limit` of them, in the order of these instants. Reads the
   * whole table, so call it rarely.
   */
  readWithin<Path extends string>(
    paths: readonly Path[],
    { since, until }: { since: Instant; until: Instant },
    before: string,
    limit: number,
  ): { at: Instant; path: Path; row: Row }[] {
    const one = `SELECT k, v, ? AS path, json_extract(v, ?) AS at FROM ${this.#table} WHERE k < ?`;
    const all = paths.map(() => one).join(" UNION ALL ");
    const sql = `SELECT v, path, at FROM (${all}) WHERE at >= ? AND at < ? ORDER BY at, k LIMIT ?`;
    const bound = paths.flatMap((path) => [path, path, before]);
    const found = this.#all<{ v: string; path: Path; at: number }>(sql, ...bound, since, until, limit);
    return found.map(({ v, path, at }) => ({ at, path, row: this.#rowOf(v) }));
  }

  /**
   * Of the rows that are not live, at most `limit` whose first known instant among `paths` is not before
   * `since` and before `until`, the latest first. Reads the whole table, so call it rarely.
   */
  readEndedWithin(
    paths: readonly string[],
    { since, until }: { since: Instant; until: Instant },
    limit: number,
  ): { at: Instant; row: Row }[] {
    const at = `coalesce(${paths.map(() => "json_extract(v, ?)")})`;
    const ended = `SELECT k, v, ${at} AS at FROM ${this.#table} WHERE live = 0`;
    const sql = `SELECT v, at FROM (${ended}) WHERE at >= ? AND at < ? ORDER BY at DESC, k DESC LIMIT ?`;
    const bound = [...paths, since, until, limit];
    const found = this.#all<{ v: string; at: number }>(sql, ...bound);
    return found.map(({ v, at: instant }) => ({ at: instant, row: this.#rowOf(v) }));
  }

  /** Notes that the object's storage was emptied, and the table with it. */
  emptied(): void {
    this.#exists = false;
  }

  write(key: string, row: Row, live: boolean, _at: Instant): void {
    this.#create();
    const sql = `INSERT INTO ${this.#table} (k, live, v) VALUES (?, ?, ?)
      ON CONFLICT (k) DO UPDATE SET live = excluded.live, v = excluded.v`;
    meter.rowsWritten += this.#sql.exec(sql, key, live ? 1 : 0, JSON.stringify(row)).rowsWritten;
  }

  remove(key: string): void {
    this.#remove("k = ?", key);
  }

  highest(field: string): number {
    const sql = `SELECT max(json_extract(v, ?)) AS highest FROM ${this.#table}`;
    return this.#first<{ highest: number | null }>(sql, `$.${field}`)?.highest ?? 0;
  }

  sums(field: string, by: string): Map<string, number> {
    const [group, number] = [`json_extract(v, '$.${by}')`, `json_extract(v, '$.${field}')`];
    const sql = `SELECT ${group} AS name, sum(${number}) AS total FROM ${this.#table} GROUP BY 1`;
    const found = this.#all<{ name: string; total: number | null }>(sql);
    return new Map(found.map(({ name, total }) => [name, total ?? 0]));
  }

  lowest(field: string, by: string, atLeast: number): number | undefined {
    const number = `json_extract(v, '$.${field}')`;
    const sql = `SELECT min(${number}) AS lowest FROM ${this.#table} WHERE json_extract(v, '$.${by}') >= ?`;
    return this.#first<{ lowest: number | null }>(sql, atLeast)?.lowest ?? undefined;
  }

  readAbove(field: string, above: number, from: string, limit: number): Row[] {
    const number = `json_extract(v, '$.${field}')`;
    const most = Number.isFinite(limit) ? limit : -1;
    const rows = `${this.#table} WHERE k >= ? AND ${number} > ? ORDER BY ${number} LIMIT ?`;
    return this.#select(rows, from, above, most).map(([, row]) => row);
  }

  /** The key of the last row. Undefined: there is no row. */
  lastKey(): string | undefined {
    return this.#select(`${this.#table} ORDER BY k DESC LIMIT 1`)[0]?.[0];
  }

  /** At most `limit` rows above the key `after` and below `before`, ordered by key. */
  readBetween(after: string, before: string, limit: number): [string, Row][] {
    return this.#select(`${this.#table} WHERE k > ? AND k < ? ORDER BY k LIMIT ?`, after, before, limit);
  }

  hasMoreThan(count: number): boolean {
    return this.#first(`SELECT 1 FROM ${this.#table} LIMIT 1 OFFSET ?`, count) !== undefined;
  }

  hasFrom(from: string): boolean {
    return this.#first(`SELECT 1 FROM ${this.#table} WHERE k >= ? LIMIT 1`, from) !== undefined;
  }

  beyond(sort: RowSort, newest: { rows: number; bytes: number }): { rows: string; bytes: string } {
    const { where, bound } = ofSort(sort);
    const sized = `SELECT k, row_number() OVER latest AS n, sum(length(CAST(v AS BLOB))) OVER latest AS total
      FROM ${this.#table} WHERE ${where} WINDOW latest AS (ORDER BY k DESC)`;
    const highest = (column: string) => `coalesce(max(CASE WHEN ${column} > ? THEN k END), '')`;
    const sql = `SELECT ${highest("n")} AS rows, ${highest("total")} AS bytes FROM (${sized})`;
    const found = this.#first<{ rows: string; bytes: string }>(sql, newest.rows, newest.bytes, ...bound);
    return found ?? { rows: "", bytes: "" };
  }

  count(sort: RowSort, after: string, upTo: string): number {
    const { where, bound } = ofSort(sort);
    const sql = `SELECT count(*) AS n FROM ${this.#table} WHERE k > ? AND k <= ? AND ${where}`;
    return this.#first<{ n: number }>(sql, after, upTo, ...bound)?.n ?? 0;
  }

  removeUpTo(upTo: string, sort?: RowSort): void {
    const { where, bound } = ofSort(sort);
    this.#remove(`k <= ? AND ${where}`, upTo, ...bound);
  }

  keepEnded(count: number, bytes: number): void {
    const ended = `${this.#table} WHERE live = 0`;
    const beyond = `SELECT k FROM ${ended} ORDER BY k DESC LIMIT 1 OFFSET ?`;
    this.#remove(`live = 0 AND k <= (${beyond})`, count);
    const sizes = `SELECT k, sum(length(CAST(v AS BLOB))) OVER (ORDER BY k DESC) AS size FROM ${ended}`;
    const large = `SELECT max(k) FROM (${sizes}) WHERE size > ?`;
    this.#remove(`live = 0 AND k <= (${large})`, bytes);
  }

  hasForgettable(until: Instant): boolean {
    return this.#first(`SELECT 1 FROM ${this.#table} WHERE ${FORGETTABLE} LIMIT 1`, until) !== undefined;
  }

  forget(until: Instant): void {
    this.#remove(FORGETTABLE, until);
  }

  /** The selected keys and rows. `from`: the part of the statement after `FROM`. */
  #select(from: string, ...bound: Bound[]): [string, Row][] {
    const found = this.#all<{ k: string; v: string }>(`SELECT k, v FROM ${from}`, ...bound);
    return found.map(({ k, v }) => [k, this.#rowOf(v)]);
  }

  #rowOf(text: string): Row {
    // Only `write` fills this table.
    return JSON.parse(text) as Row;
  }

  #first<Found extends Columns>(sql: string, ...bound: Bound[]): Found | undefined {
    return this.#all<Found>(sql, ...bound)[0];
  }

  /** What a statement finds. A table that is not there has nothing. */
  #all<Found extends Columns>(sql: string, ...bound: Bound[]): Found[] {
    return this.#exists ? this.#sql.exec<Found>(sql, ...bound).toArray() : [];
  }

  #remove(where: string, ...bound: Bound[]): void {
    if (!this.#exists) return;
    const sql = `DELETE FROM ${this.#table} WHERE ${where}`;
    meter.rowsWritten += this.#sql.exec(sql, ...bound).rowsWritten;
  }

  #isThere(): boolean {
    const asked = this.#sql.exec("SELECT 1 FROM sqlite_master WHERE name = ?", this.#table);
    return asked.toArray().length > 0;
  }

  #create(): void {
    if (this.#exists) return;
    const sql = `CREATE TABLE IF NOT EXISTS ${this.#table}
      (k TEXT PRIMARY KEY, live INTEGER NOT NULL, v TEXT NOT NULL) WITHOUT ROWID`;
    meter.rowsWritten += this.#sql.exec(sql).rowsWritten;
    this.#exists = true;
  }
}
