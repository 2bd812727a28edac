// What is the state of a loaded pool: what it stores (`record.ts`), and what a restart may lose?
import type { Instant } from "../../shared/machine.ts";
import { isTerminal } from "../../shared/run-state.ts";
import type { AuditTable } from "../audit/table.ts";
import type { Sighting } from "../messages.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import type { HourRow } from "./past/hour-record.ts";
import type { Pass } from "./plan/pass.ts";
import type { Counting } from "./plan/tally.ts";
import { isOpen, type PoolRecord, type RunRow, type WorkerRow } from "./record.ts";
import type { Changes, ReadonlyChanges } from "./rows/changes.ts";
import type { LastHeard, ReadonlyLastHeard } from "./rows/last-heard.ts";
import type { ReadonlyRecentEnds, RecentEnds } from "./rows/recent-ends.ts";
import type { ReadonlyIndex, RunIndex } from "./rows/run-index.ts";
import type { StoredBytes } from "./rows/stored-bytes.ts";

/** What this process remembers of an endpoint that follows the pool (webhooks.md#following). */
export interface Talk {
  notBefore: Instant;
  /** How often the endpoint has asked for a page. */
  asked: number;
}

/** The part of the state that a restart may lose. */
export interface PoolMemo {
  /** Indexes of the runs for decisions. Changed in place with the rows. */
  index: RunIndex;
  /** When each worker was last heard from or polled. Changed in place with the rows. */
  workersLastHeard: LastHeard;
  /** Counters, and which rows have changed. Both change in place with the rows. */
  counting: Counting;
  changes: Changes;
  /** The runs that ended lately. Changed in place with the rows. */
  recentEnds: RecentEnds;
  /** What the runs of each project have stored. Changed in place with the rows. */
  storedBytes: StoredBytes;
  /** By endpoint: when it may be told more, and how often it has asked. */
  talks: Record<string, Talk>;
  sweptAt: Instant | null;
  sweepError: string | null;
  /**
   * Machines in the latest listing that carry the pool's tag but belong to no worker: they are left alone.
   */
  strangers: string[];
  /** By worker: what a listing has shown, as long as the worker has not been told. */
  sightings: Record<string, Sighting>;
  /** Ended runs whose retention is over, by key. Changed in place. */
  expired: Map<string, RunRow>;
  /** When to look for more expired runs. Absent: now. */
  lookAt?: Instant | undefined;
  /** The revision of the latest refused configuration. */
  refusedRevision: number;
  /** When the pool last made a plan. */
  decidedAt: Instant;
  /** What the latest plan depended on besides the runs (`basisOf`). */
  decidedFrom: string;
  /**
   * The pass of the latest plan, when turns were last given, and the latest calls to the provider that people
   * asked for, latest first (`provider/asked-calls.ts`). Changed in place.
   */
  latest: { pass: Pass | null; turnsAt: Instant; asked: readonly Instant[] };
}

/** A pool as `apply` consumes it. Its tables change in place, and so do the indexes in its memo. */
export interface PoolState {
  record: PoolRecord | null;
  runs: Rows<RunRow>;
  workers: Rows<WorkerRow>;
  /** Its part of the audit log. */
  audit: AuditTable;
  /** The hours that are over. None of them is in memory. */
  hours: Rows<HourRow>;
  memo: PoolMemo;
}

/** Its tables, each with the rows to write. */
export function tablesOf({ runs, workers, audit, hours }: PoolState) {
  return [runs, workers, audit.rows, hours];
}

/** A pool that has a configuration. */
export type Configured = PoolState & { record: PoolRecord };

/** A pool as readers see it, without mutation. */
export interface ReadonlyPool {
  readonly record: PoolRecord | null;
  readonly runs: ReadonlyRows<RunRow>;
  readonly workers: ReadonlyRows<WorkerRow>;
  readonly audit: Pick<AuditTable, "latest" | "latestAt" | "trimAt">;
  readonly memo: Readonly<Omit<PoolMemo, keyof ReadonlyTables>> & ReadonlyTables;
}

/** The parts of the memo that change in place, for readers. */
interface ReadonlyTables {
  readonly index: ReadonlyIndex;
  readonly workersLastHeard: ReadonlyLastHeard;
  readonly counting: Pick<Counting, "counts" | "ends">;
  readonly changes: ReadonlyChanges;
  readonly recentEnds: ReadonlyRecentEnds;
  readonly storedBytes: Pick<StoredBytes, "of">;
  readonly expired: ReadonlyMap<string, RunRow>;
  readonly latest: Readonly<PoolMemo["latest"]>;
}

/** A configured pool as readers see it. */
export type ReadonlyConfigured = ReadonlyPool & { readonly record: PoolRecord };

/** Whether any run has not ended or still uses capacity. */
export function hasLiveRuns({ runs }: Pick<ReadonlyPool, "runs">): boolean {
  for (const row of runs.live()) if (!isTerminal(row.state) || isOpen(row)) return true;
  return false;
}

/** Whether nothing needs the pool: no live run, and no worker that may have a machine. */
export function isEmpty(state: ReadonlyPool): boolean {
  return !hasLiveRuns(state) && state.workers.live().next().done === true;
}

/** Whether the pool is deleted. Its ended runs are kept until their retention is over. */
export function isRemoved(state: ReadonlyPool): boolean {
  return state.record?.leaving === true && isEmpty(state);
}
