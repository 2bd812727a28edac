import type { RunUpsert } from "../core/messages.ts";
import type { Configured, RunRow } from "../core/pool/state.ts";
import { runKey } from "../core/pool/state.ts";
import { runSummary } from "../core/pool/views.ts";
import type { RunSummary } from "../schema/run.ts";
import type { RunFilter } from "./rpc.ts";
import type { SqlRowDisk } from "./store.ts";

/** Rows that one answer looks at, at most: a rare match must not hold up the object for long. */
const SCAN_ROWS = 5_000;
/** Ended runs whose place in the table is kept at hand, so that whoever waits for them by id finds them. */
const KEEP_KEYS = 50_000;
/** Runs that the answer to a wait has at most. */
export const MAX_WAIT_ITEMS = 1_000;
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
  seen(run: string, submittedAt: number): void {
    this.#keys.set(run, runKey(submittedAt, run));
    if (this.#keys.size <= KEEP_KEYS) return;
    const [oldest] = this.#keys.keys();
    if (oldest !== undefined) this.#keys.delete(oldest);
  }

  /** All matches among the ids of a filter that the pool has at hand, in their order. */
  byIds(state: Configured, filter: RunFilter): RunSummary[] {
    const found: RunSummary[] = [];
    for (const id of filter.ids ?? []) {
      const key = this.#keys.get(id);
      const row = key === undefined ? undefined : state.runs.get(key);
      if (row !== undefined && isMatch(row, filter)) found.push(runSummary(row, state.record.name));
    }
    return found;
  }

  /** One page, newest first. A page can have fewer matches than `limit` and yet a next one. */
  page(
    state: Configured,
    filter: RunFilter,
    limit: number,
    cursor?: string,
  ): { items: RunSummary[]; next: string | null } {
    const items: RunSummary[] = [];
    let before = cursor ?? TOP;
    for (let scanned = 0; scanned < SCAN_ROWS; ) {
      const rows = this.#disk.readBelow(before, Math.min(1_000, limit + 1));
      for (const [key, row] of rows) {
        if (items.length === limit) return { items, next: before };
        before = key;
        if (isMatch(row, filter)) items.push(runSummary(row, state.record.name));
      }
      scanned += rows.length;
      if (rows.length === 0) return { items, next: null };
    }
    return { items, next: before };
  }
}

/** Whether a run is one that a filter asks for. */
export function isMatch(row: RunUpsert, filter: RunFilter): boolean {
  if (filter.ids !== undefined && !filter.ids.includes(row.run)) return false;
  if (!filter.states.includes(row.state)) return false;
  return Object.entries(filter.labels).every(([key, value]) => row.labels[key] === value);
}
