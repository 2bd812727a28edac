// Which rows of a pool have changed, for `GET /v1/pools/{pool}/events`?
import type { PoolChange, PoolEventList } from "../../../schema/pool/changes.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { RunRow, WorkerRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";
import { listedRun } from "./run-costs.ts";
import { runsByWorker, workerSummary } from "./views.ts";

/** The maximum number of changed rows in one answer. */
export const MAX_EVENTS_READ = 1_000;

/**
 * The rows that changed after this number, in the order of their latest changes (api.md#pool-events). Each
 * row is returned once, in its present state. If `after` is null, all live rows are returned. Deleted rows
 * are not reported.
 */
export function eventsAfter(state: ReadonlyConfigured, after: number | null, now: Instant): PoolEventList {
  const { rows, isAll } = after === null ? livingRows(state) : rowsAfter(state, after);
  rows.sort((a, b) => (a.number ?? 0) - (b.number ?? 0));
  const runs = runsByWorker(state);
  const shown = isAll ? rows : rows.slice(0, MAX_EVENTS_READ);
  const items = shown.map((row) => eventOf(row, state, runs, now));
  const highest = items.at(-1)?.number ?? after ?? 0;
  // `next` also skips the changes of deleted rows. Otherwise `hasEvents` would announce these changes to a
  // reader again and again.
  const next = isAll ? Math.max(highest, state.memo.changes.latest) : highest;
  return { items, next };
}

/** Whether any row has changed after this number, as far as this process knows. */
export function hasEvents({ memo }: ReadonlyConfigured, after: number): boolean {
  for (const { table } of memo.changes.since(after)) if (table === "run" || table === "worker") return true;
  return false;
}

type FoundRows = { rows: (RunRow | WorkerRow)[]; isAll: boolean };

function livingRows({ runs, workers }: ReadonlyConfigured): FoundRows {
  return { rows: [...runs.live(), ...workers.live()], isAll: true };
}

/** Finds the changed rows by the changes in memory. If these changes are incomplete, reads the tables. */
function rowsAfter({ memo, runs, workers }: ReadonlyConfigured, after: number): FoundRows {
  if (memo.changes.isComplete(after)) {
    const rows = [...memo.changes.since(after)].flatMap(({ table, key }) => {
      if (table === "run") return runs.get(key) ?? [];
      return table === "worker" ? (workers.get(key) ?? []) : [];
    });
    return { rows, isAll: rows.length <= MAX_EVENTS_READ };
  }
  const limit = MAX_EVENTS_READ + 1;
  const rows = [...runs.above("number", after, "", limit), ...workers.above("number", after, "", limit)];
  return { rows, isAll: rows.length <= MAX_EVENTS_READ };
}

function eventOf(
  row: RunRow | WorkerRow,
  state: ReadonlyConfigured,
  runs: Map<string, RunRow[]>,
  now: Instant,
): PoolChange {
  const number = row.number ?? 0;
  if ("run" in row) return { number, run: listedRun(state, row, now) };
  return { number, worker: workerSummary(row, runs.get(row.worker) ?? [], state.record) };
}
