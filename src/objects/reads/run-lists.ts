// How are the runs of a pool listed: newest first, filtered, in pages, and by id?
import type { RunRow } from "../../core/pool/record.ts";
import type { Configured } from "../../core/pool/state.ts";
import { runSummary } from "../../core/run-summary.ts";
import type { RunSummary } from "../../schema/run/run.ts";
import type { RunFilter } from "../rpc.ts";
import type { SqlRowDisk } from "../store.ts";
import { nameless, TOP } from "./nameless.ts";
import { isMatch } from "./run-filter.ts";

/** The most rows read for one answer: the search for a rare match must not block the object for long. */
const SCAN_ROWS = 5_000;
/** How many runs' keys are kept in memory, so that waits by id also find ended runs. */
const KEEP_KEYS = 50_000;
/** How many labels are filtered in SQL: a statement takes a hundred values, and each label takes two. */
const SQL_LABELS = 40;

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

  /** The matches among the ids of a filter, in the order of the ids. */
  byIds(state: Configured, filter: RunFilter): RunSummary[] {
    const rows = this.rowsOf(state, filter.ids ?? []).filter((row) => isMatch(row, filter));
    return rows.map((row) => runSummary(row, state.record.name));
  }

  /** One page, newest first. It may have fewer than `limit` matches even if more pages follow. */
  page(
    state: Configured,
    filter: RunFilter,
    limit: number,
    cursor = TOP,
  ): { items: RunSummary[]; next: string | null } {
    const { rows, next } = this.#disk.readMatching(cursor, SCAN_ROWS, limit, sqlFilterOf(filter));
    const found = rows.filter(([, row]) => isMatch(row, filter));
    const items = found.map(([, row]) => runSummary(row, state.record.name));
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
