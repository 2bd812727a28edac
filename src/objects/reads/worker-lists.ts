// Which workers does a pool list?
import { ownerOf } from "../../core/pool/projects.ts";
import { listedWorkers } from "../../core/pool/read/lists.ts";
import type { RunRow, WorkerRow } from "../../core/pool/record.ts";
import type { Configured } from "../../core/pool/state.ts";
import type { ListedWorker, WorkerStateName } from "../../schema/pool.ts";
import type { SqlRowDisk } from "../store.ts";

/** How many gone workers a pool lists: only the latest are shown. */
export const GONE_WORKERS_SHOWN = 1_000;

/** How many of the latest runs are read for one answer: bounded, so that other requests wait only briefly. */
const SCAN_ROWS = 5_000;

/** The workers of a pool in these states, each with the run that ended last on this worker. */
export function workersOf(
  state: Configured,
  states: readonly WorkerStateName[],
  runs: SqlRowDisk<RunRow>,
  workers: SqlRowDisk<WorkerRow>,
): ListedWorker[] {
  const gone = () => workers.readLatestEnded("askedAt", GONE_WORKERS_SHOWN).map(([, row]) => row);
  const { rows, isAll } = runs.readHighestBy("worker", "finishedAt", SCAN_ROWS);
  const byWorker = new Map(rows.map((row) => [row.worker, row]));
  return listedWorkers(state, states, gone, { byWorker, isAll });
}

/** To which project a worker's machine belongs (projects.md#machines). Null also for an unknown worker. */
export function ownerOfWorker({ record, workers }: Configured, worker: string): string | null {
  const row = workers.get(worker);
  return row === undefined ? null : ownerOf(record.config, row);
}
