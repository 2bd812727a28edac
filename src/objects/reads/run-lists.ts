// How are the runs of a pool listed: newest first, filtered, in pages, and by id?
import { listedRun } from "../../core/pool/read/run-costs.ts";
import { type RunRow, runKey } from "../../core/pool/record.ts";
import type { Configured } from "../../core/pool/state.ts";
import type { RunSummary } from "../../schema/run/run.ts";
import type { Instant } from "../../shared/machine.ts";
import type { RunFilter } from "../rpc.ts";
import type { SqlRowDisk } from "../store.ts";
import { nameless, TOP } from "./nameless.ts";
import type { RowFilter } from "./row-filters.ts";
import { isMatch, lowerCase } from "./run-filter.ts";

/** The most rows read for one answer: the search for a rare match must not block the object for long. */
const SCAN_ROWS = 5_000;
/** How many runs' keys are kept in memory, so that waits by id also find ended runs. */
const KEEP_KEYS = 50_000;
/** How many labels are filtered in SQL: a statement takes a hundred values, and each label takes two. */
const SQL_LABELS = 40;

/** Which page to list. */
interface Page {
  limit: number;
  cursor?: string;
}

/** A page. `next`: the cursor of the next one; null: there is none. */
interface Listed<Item> {
  items: Item[];
  next: string | null;
}

/** The lists of a pool's runs. */
export class RunLists {
  readonly #disk: SqlRowDisk<RunRow>;
  readonly #keys = new Map<string, string>();

  constructor(disk: SqlRowDisk<RunRow>) {
    this.#disk = disk;
    for (const [key, row] of disk.readLive()) this.#keys.set(row.run, key);
  }

  /** Remembers the key of a run's row. */
  noteKey(run: string, key: string): void {
    this.#keys.delete(run); // moves it to the end
    this.#keys.set(run, key);
    if (this.#keys.size <= KEEP_KEYS) return;
    const [oldest] = this.#keys.keys();
    if (oldest !== undefined) this.#keys.delete(oldest);
  }

  /** The rows with these ids whose keys are in memory, in the order of the ids. */
  rowsOf({ runs }: Configured, ids: readonly string[]): RunRow[] {
    return ids.flatMap((id) => {
      const key = this.#keys.get(id);
      return (key === undefined ? undefined : runs.get(key)) ?? [];
    });
  }

  /** The runs of a filter at `now`: by id in the order of the ids, or one page of them. */
  list(state: Configured, filter: RunFilter, page: Page, now: Instant): Listed<RunSummary> {
    const { ids } = filter;
    const { items, next } =
      ids === undefined ? this.#page(filter, page) : { items: this.#byIds(state, ids, filter), next: null };
    return { items: items.map((row) => listedRun(state, row, now)), next };
  }

  /** The matches among the ids, in the order of the ids. */
  #byIds(state: Configured, ids: readonly string[], filter: RunFilter): RunRow[] {
    return this.rowsOf(state, ids).filter((row) => isMatch(row, filter));
  }

  /** One page, newest first. It may have fewer than `limit` matches even if more pages follow. */
  #page(filter: RunFilter, { limit, cursor = TOP }: Page): Listed<RunRow> {
    // Keys begin with the time of submission, so no row below this one is read.
    const floor = filter.since === undefined ? "" : runKey(filter.since, "");
    const filters = [...sqlFilterOf(filter), ...searchOf(filter)];
    const { rows, next } = this.#disk.readMatching(cursor, SCAN_ROWS, limit, filters, floor);
    const found = rows.filter(([, row]) => isMatch(row, filter));
    const items = found.map(([, row]) => row);
    return { items, next: next === found.at(-1)?.[0] ? next : nameless(next, cursor) };
  }
}

/**
 * The part of a filter that SQL can check. The rest is left to `isMatch`: label names that need escaping
 * in a JSON path, and more labels than fit into one statement.
 */
function sqlFilterOf({ states, labels, array, project }: RunFilter) {
  const plain = Object.entries(labels).filter(([name]) => /^[\w.-]+$/.test(name));
  return [
    { field: "$.state", values: states },
    ...(project === undefined ? [] : [{ field: "$.project", values: [project] }]),
    ...(array === undefined ? [] : [{ field: "$.array.id", values: [array] }]),
    ...plain.slice(0, SQL_LABELS).map(([name, value]) => ({ field: `$.labels."${name}"`, values: [value] })),
  ];
}

/** What people look for, as conditions in SQL: the same as in `isMatch`. */
function searchOf({ prefix, by, text, failed, parked }: RunFilter): RowFilter[] {
  const found: RowFilter[] = [];
  if (by !== undefined) found.push({ field: "$.by", values: [by] });
  if (prefix !== undefined) {
    found.push({ where: "substr(json_extract(v, '$.run'), 1, ?) = ?", bound: [prefix.length, prefix] });
  }
  // `isMatch` leaves out states in which no run has failed; `complete` needs the exit code.
  if (failed === true) {
    const ended = "ifnull(json_extract(v, '$.exitCode'), 0) <> 0";
    found.push({ where: `(json_extract(v, '$.state') <> 'complete' OR ${ended})`, bound: [] });
  }
  if (parked === true) found.push({ where: "json_extract(v, '$.parked') IS NOT NULL", bound: [] });
  if (text !== undefined) {
    const has = (place: string) => `instr(lower(${place}), ?) > 0`;
    const inLabel = `EXISTS (SELECT 1 FROM json_each(v, '$.labels') AS label WHERE ${has("label.value")})`;
    const places = [has("json_extract(v, '$.run')"), has("json_extract(v, '$.command')"), inLabel];
    found.push({ where: `(${places.join(" OR ")})`, bound: places.map(() => lowerCase(text)) });
  }
  return found;
}
