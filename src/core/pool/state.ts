// What a pool knows while it is loaded: what it stores (`record.ts`), and what a restart may forget.
import type { Instant } from "../../shared/machine.ts";
import { isTerminal } from "../../shared/run-state.ts";
import type { Sighting } from "../messages.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import type { Pass } from "./plan/pass.ts";
import type { Counting } from "./plan/tally.ts";
import { isOpen, type PoolRecord, type RunRow, type WorkerRow } from "./record.ts";
import type { Changes, ReadonlyChanges } from "./rows/changes.ts";
import type { Heard, ReadonlyHeard } from "./rows/heard.ts";
import type { ReadonlyIndex, RunIndex } from "./rows/run-index.ts";

/** What a restart may forget. */
export interface PoolMemo {
  /** The rows of runs by what is asked of them. Follows them in place. */
  index: RunIndex;
  /** When workers were last heard of, or asked how they are. Follows their rows in place. */
  heardWorkers: Heard;
  /** What has happened, and which rows have changed. Both follow the rows in place. */
  counting: Counting;
  changes: Changes;
  sweptAt: Instant | null;
  sweepError: string | null;
  /** Machines with our pool's tag in the latest listing that no worker counts as its own: left alone. */
  strangers: string[];
  /** What listings say that workers must still hear. */
  sightings: Record<string, Sighting>;
  /** Ended runs whose time is over, by key, and when to look for others; absent: at once. Kept in place. */
  expired: Map<string, RunRow>;
  lookAt?: Instant | undefined;
  /** Why the latest configuration was refused. */
  refusedRevision: number;
  /** When we last decided: what was to happen by then has. */
  decidedAt: Instant;
  /** From what besides runs that was (`basisOf`). */
  decidedFrom: string;
  /** Its pass along the queue, and when turns were last given. Kept in place: no pass holds on to another. */
  latest: { pass: Pass | null; turnsAt: Instant };
}

/** A pool as `apply` consumes it: its tables, and what follows them in the memo, change in place. */
export interface PoolState {
  record: PoolRecord | null;
  runs: Rows<RunRow>;
  workers: Rows<WorkerRow>;
  memo: PoolMemo;
}

/** A pool that has a configuration. */
export type Configured = PoolState & { record: PoolRecord };

/** A pool as readers see it: through this nothing changes. */
export interface ReadonlyPool {
  readonly record: PoolRecord | null;
  readonly runs: ReadonlyRows<RunRow>;
  readonly workers: ReadonlyRows<WorkerRow>;
  readonly memo: Readonly<Omit<PoolMemo, keyof ReadonlyTables>> & ReadonlyTables;
}

/** What follows the tables, for readers. */
interface ReadonlyTables {
  readonly index: ReadonlyIndex;
  readonly heardWorkers: ReadonlyHeard;
  readonly counting: Pick<Counting, "counts">;
  readonly changes: ReadonlyChanges;
  readonly expired: ReadonlyMap<string, RunRow>;
  readonly latest: Readonly<PoolMemo["latest"]>;
}

/** The same, of a pool that has a configuration. */
export type ReadonlyConfigured = ReadonlyPool & { readonly record: PoolRecord };

/** Whether a run has not ended, or still uses capacity. */
export function hasLiveRuns({ runs }: Pick<ReadonlyPool, "runs">): boolean {
  for (const row of runs.live()) if (!isTerminal(row.state) || isOpen(row)) return true;
  return false;
}

/** Whether nothing needs the pool: no run that has not ended, and no worker that may have a machine. */
export function isEmpty(state: ReadonlyPool): boolean {
  return !hasLiveRuns(state) && state.workers.live().next().done === true;
}

/** Whether the pool has been deleted. Its ended runs are still kept for their time. */
export function isRemoved(state: ReadonlyPool): boolean {
  return state.record?.leaving === true && isEmpty(state);
}
