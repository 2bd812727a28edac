// What does a loaded pool know: what it stores (`record.ts`), and what a restart may lose?
import type { Instant } from "../../shared/machine.ts";
import { isTerminal } from "../../shared/run-state.ts";
import type { Sighting } from "../messages.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import type { Pass } from "./plan/pass.ts";
import type { Counting } from "./plan/tally.ts";
import { isOpen, type PoolRecord, type RunRow, type WorkerRow } from "./record.ts";
import type { Changes, ReadonlyChanges } from "./rows/changes.ts";
import type { LastHeard, ReadonlyLastHeard } from "./rows/last-heard.ts";
import type { ReadonlyIndex, RunIndex } from "./rows/run-index.ts";

/** What a restart may lose. */
export interface PoolMemo {
  /** The runs by what decisions need. Changed in place with the rows. */
  index: RunIndex;
  /** When each worker was last heard or asked. Changed in place with the rows. */
  workersLastHeard: LastHeard;
  /** Counters, and which rows have changed. Both change in place with the rows. */
  counting: Counting;
  changes: Changes;
  sweptAt: Instant | null;
  sweepError: string | null;
  /** Machines with the pool's tag in the latest listing that belong to no worker: left alone. */
  strangers: string[];
  /** News of listings that workers must still receive. */
  sightings: Record<string, Sighting>;
  /**
   * Ended runs whose retention is over, by key, and when to look for more (absent: now). Changed in
   * place.
   */
  expired: Map<string, RunRow>;
  lookAt?: Instant | undefined;
  /** The revision of the latest refused configuration. */
  refusedRevision: number;
  /** When the pool last decided. */
  decidedAt: Instant;
  /** What this decision depended on besides the runs (`basisOf`). */
  decidedFrom: string;
  /** The pass of this decision, and when turns were last given. Changed in place. */
  latest: { pass: Pass | null; turnsAt: Instant };
}

/** A pool as `apply` consumes it: its tables, and the memo that follows them, change in place. */
export interface PoolState {
  record: PoolRecord | null;
  runs: Rows<RunRow>;
  workers: Rows<WorkerRow>;
  memo: PoolMemo;
}

/** A pool that has a configuration. */
export type Configured = PoolState & { record: PoolRecord };

/** A pool as readers see it, without mutation. */
export interface ReadonlyPool {
  readonly record: PoolRecord | null;
  readonly runs: ReadonlyRows<RunRow>;
  readonly workers: ReadonlyRows<WorkerRow>;
  readonly memo: Readonly<Omit<PoolMemo, keyof ReadonlyTables>> & ReadonlyTables;
}

/** The memo that follows the tables, for readers. */
interface ReadonlyTables {
  readonly index: ReadonlyIndex;
  readonly workersLastHeard: ReadonlyLastHeard;
  readonly counting: Pick<Counting, "counts">;
  readonly changes: ReadonlyChanges;
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
