// What is the state of a pool right after loading?
import type { AuditTable } from "../audit/table.ts";
import type { Rows } from "../rows.ts";
import type { HourRow } from "./past/hour-record.ts";
import { Counting } from "./plan/tally.ts";
import { isLiveWorker, NO_TALLY, type PoolRecord, type RunRow, type WorkerRow } from "./record.ts";
import { Changes } from "./rows/changes.ts";
import { LastHeard } from "./rows/last-heard.ts";
import { RecentEnds } from "./rows/recent-ends.ts";
import { RunIndex } from "./rows/run-index.ts";
import { StoredBytes } from "./rows/stored-bytes.ts";
import type { PoolMemo, PoolState } from "./state.ts";

/** Makes the state of a loaded pool from its stored record and rows. */
export function loadedPool(
  record: PoolRecord | null,
  runs: Rows<RunRow>,
  workers: Rows<WorkerRow>,
  audit: AuditTable,
  hours: Rows<HourRow>,
): PoolState {
  const counting = new Counting(record?.tally ?? NO_TALLY, runs);
  const changes = new Changes(Math.max(latestOf(runs), latestOf(workers), audit.latest), () =>
    Math.max(endedOf(runs), endedOf(workers)),
  );
  audit.noteExported(record?.exported);
  audit.stampWith((now) => changes.stamp(now));
  const recentEnds = new RecentEnds(counting.ends);
  const storedBytes = new StoredBytes(runs);
  runs.stampWith((after, before, key, now) => {
    storedBytes.changes(after);
    const row = counting.run(changes.run(after, before, key, now), before, now);
    if (row.endNumber !== undefined) recentEnds.note(row.endNumber, key);
    return row;
  });
  workers.stampWith((after, before, key, now) =>
    changes.worker(counting.worker(after, before, now), before, key, now),
  );
  const memo: PoolMemo = {
    index: new RunIndex(runs),
    workersLastHeard: lastHeardOf(workers),
    counting,
    changes,
    recentEnds,
    storedBytes,
    talks: {},
    sweptAt: null,
    sweepError: null,
    strangers: [],
    sightings: {},
    expired: new Map(),
    refusedRevision: 0,
    decidedAt: 0,
    decidedFrom: "",
    latest: { pass: null, turnsAt: 0, asked: [] },
  };
  return { record, runs, workers, audit, hours, memo };
}

function latestOf(rows: Rows<RunRow> | Rows<WorkerRow>): number {
  let latest = 0;
  for (const { number = 0 } of rows.live()) latest = Math.max(latest, number);
  return latest;
}

/**
 * The number of the latest change of a row that is not live. This function reads all such rows, so call it
 * rarely.
 */
function endedOf(rows: Rows<RunRow> | Rows<WorkerRow>): number {
  return rows.latestEnded("number", 1)[0]?.number ?? 0;
}

function lastHeardOf(workers: Rows<WorkerRow>): LastHeard {
  const heard = new LastHeard();
  const live = [...workers.live()].sort((a, b) => a.heardAt - b.heardAt);
  for (const row of live) heard.note(row.worker, row.heardAt);
  workers.watch((key, _before, row) => {
    if (row === undefined || !isLiveWorker(row)) heard.delete(key);
    else heard.note(key, row.heardAt);
  });
  return heard;
}
