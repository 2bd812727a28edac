import { type LastRuns, listedWorkers } from "../../core/pool/read/lists.ts";
import type { RunRow, WorkerRow } from "../../core/pool/record.ts";
import type { Configured } from "../../core/pool/state.ts";
import type { ListedWorker, WorkerState } from "../../schema/pool.ts";
import { GONE_WORKERS_SHOWN } from "../../shared/limits.ts";
import type { SqlRowDisk } from "../store.ts";

/** So many of the latest runs are looked at for one answer, so that nobody else waits for long. */
const SCAN_ROWS = 5_000;

/** The workers of a pool in one of these states, each with the run that ended there last. */
export function workersOf(
  state: Configured,
  states: readonly WorkerState[],
  runs: SqlRowDisk<RunRow>,
  workers: SqlRowDisk<WorkerRow>,
): ListedWorker[] {
  const gone = () => workers.readLatestEnded("askedAt", GONE_WORKERS_SHOWN).map(([, row]) => row);
  return listedWorkers(state, states, gone, lastRunsOf(runs));
}

/** By worker, the run that ended last among the latest runs of the pool. */
function lastRunsOf(runs: SqlRowDisk<RunRow>): LastRuns {
  const { rows, isAll } = runs.readHighestBy("worker", "finishedAt", SCAN_ROWS);
  return { byWorker: new Map(rows.map((row) => [row.worker, row])), isAll };
}
