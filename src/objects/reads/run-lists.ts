import type { RunRow } from "../../core/pool/record.ts";
import type { Configured } from "../../core/pool/state.ts";
import { runSummary } from "../../core/run-summary.ts";
import type { RunSummary } from "../../schema/run/run.ts";
import type { RunFilter } from "../rpc.ts";
import type { SqlRowDisk } from "../store.ts";
import { isMatch } from "./run-filter.ts";

/** Rows that one answer looks at, at most: a rare match must not hold up the object for long. */
const SCAN_ROWS = 5_000;
/** Ended runs whose place in the table is kept at hand, so that whoever waits for them by id finds them. */
const KEEP_KEYS = 50_000;
/** Labels that are looked at in SQL: a statement takes a hundred values, and each label takes two. */
const SQL_LABELS = 40;
/** Above every key of a run. */
const TOP = "~";

/** The lists of a pool's runs: newest first, filtered, in pages, and by id. */
export class RunLists {
  readonly #disk: SqlRowDisk<RunRow>;
  readonly #keys = new Map<string, string>();

  constructor(disk: SqlRowDisk<RunRow>) {
    this.#disk = disk;
    for (const [key, row] of disk.readLive()) this.#keys.set(row.run, key);
  }

  /** Remembers where a run's row lies. */
  seen(run: string, key: string): void {
    this.#keys.delete(run); // what is set again stands where it stood
    this.#keys.set(run, key);
    if (this.#keys.size <= KEEP_KEYS) return;
    const [oldest] = this.#keys.keys();
    if (oldest !== undefined) this.#keys.delete(oldest);
  }

  /** The rows with these ids that the pool has at hand, in their order. */
  rowsOf({ runs }: Configured, ids: readonly string[]): RunRow[] {
    return ids.flatMap((id) => {
      const key = this.#keys.get(id);
      return (key === undefined ? undefined : runs.get(key)) ?? [];
    });
  }

  /** All matches among the ids of a filter that the pool has at hand, in their order. */
  byIds(state: Configured, filter: RunFilter): RunSummary[] {
    const rows = this.rowsOf(state, filter.ids ?? []).filter((row) => isMatch(row, filter));
    return rows.map((row) => runSummary(row, state.record.name));
  }

  /** One page, newest first. A page can have fewer matches than `limit` and yet a next one. */
  page(
    state: Configured,
    filter: RunFilter,
    limit: number,
    cursor = TOP,
  ): { items: RunSummary[]; next: string | null } {
    const { rows, next } = this.#disk.readMatching(cursor, SCAN_ROWS, limit, wantedOf(filter));
    const found = rows.filter(([, row]) => isMatch(row, filter));
    return { items: found.map(([, row]) => runSummary(row, state.record.name)), next };
  }
}

/**
 * What can be said of a filter in SQL. Left to `isMatch` is a name that would have to be escaped in a path,
 * and what would be too many values for one statement.
 */
function wantedOf({ states, labels }: RunFilter) {
  const plain = Object.entries(labels).filter(([name]) => /^[\w.-]+$/.test(name));
  return [
    { field: "$.state", values: states },
    ...plain.slice(0, SQL_LABELS).map(([name, value]) => ({ field: `$.labels."${name}"`, values: [value] })),
  ];
}
