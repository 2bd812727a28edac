import type { Instant } from "../../shared/machine.ts";
import type { Rows } from "../rows.ts";
import { Counting } from "./plan/tally.ts";
import { isLiveWorker, type PoolRecord, type RunRow, type WorkerRow } from "./record.ts";
import { Changes } from "./rows/changes.ts";
import { Heard } from "./rows/heard.ts";
import { RunIndex } from "./rows/run-index.ts";
import type { PoolMemo, PoolState } from "./state.ts";

/** The state of a pool as it is loaded. */
export function loadedPool(
  record: PoolRecord | EarlierRecord | null,
  runs: Rows<RunRow>,
  workers: Rows<WorkerRow>,
): PoolState {
  const counting = new Counting(record?.tally, runs);
  const changes = new Changes(Math.max(latestOf(runs), latestOf(workers)), () =>
    Math.max(endedOf(runs), endedOf(workers)),
  );
  runs.stampWith((after, before, key, now) => counting.run(changes.run(after, before, key, now), before));
  workers.stampWith((after, before, key, now) =>
    changes.worker(counting.worker(after, before, now), before, key, now),
  );
  const memo: PoolMemo = {
    index: new RunIndex(runs),
    heardWorkers: heardOf(workers),
    counting,
    changes,
    sweptAt: null,
    sweepError: null,
    strangers: [],
    sightings: {},
    expired: new Map(),
    refusedRevision: 0,
    decidedAt: 0,
    decidedFrom: "",
    latest: { pass: null, turnsAt: 0 },
  };
  return { record: record === null ? null : withHolds(record), runs, workers, memo };
}

function latestOf(rows: Rows<RunRow> | Rows<WorkerRow>): number {
  let latest = 0;
  for (const { number = 0 } of rows.live()) latest = Math.max(latest, number);
  return latest;
}

/** The number of the latest change of a row that is not live: a look at all of them, which few ask for. */
function endedOf(rows: Rows<RunRow> | Rows<WorkerRow>): number {
  return rows.latestEnded("number", 1)[0]?.number ?? 0;
}

/** A record as any version has stored it: an earlier one knows one hold-off, of everything. */
function withHolds(record: PoolRecord | EarlierRecord): PoolRecord {
  if ("holds" in record) return record;
  const { hold } = record;
  if (hold === null) return { ...record, hold, holds: [] };
  const { failures: tries, until, reason } = hold;
  return { ...record, hold: null, holds: [{ cause: "temporary", scope: "all", tries, until, reason }] };
}

/** What was stored before hold-offs had a scope. */
export interface EarlierRecord extends Omit<PoolRecord, "hold" | "holds"> {
  hold: { failures: number; until: Instant; reason: string } | null;
}

function heardOf(workers: Rows<WorkerRow>): Heard {
  const heard = new Heard();
  const live = [...workers.live()].sort((a, b) => a.heardAt - b.heardAt);
  for (const row of live) heard.note(row.worker, row.heardAt);
  workers.watch((key, _before, row) => {
    if (row === undefined || !isLiveWorker(row)) heard.delete(key);
    else heard.note(key, row.heardAt);
  });
  return heard;
}
