// What does a query for runs ask, and what does it find at one moment?
import type { RunSearch } from "../../objects/rpc.ts";
import type { RunList, RunState, RunSummary } from "../../schema/run/run.ts";
import type { Position } from "./cursor.ts";

/** A query, from the parameters or the body of a request (api.md#query). */
export interface RunQuestion {
  /** Absent: all runs. */
  ids?: string[] | undefined;
  states: RunState[];
  labels: Record<string, string>;
  /** What people look for besides (api.md#finding). A query by ids has none. */
  search?: RunSearch | undefined;
  /** Only the runs of this array. Absent: any. */
  array?: string | undefined;
  /** The names of the pools to ask. */
  pools: readonly string[];
  /** Whether only runs of these pools can match. */
  onlyThesePools: boolean;
  /** Whether to wait until all selected runs, not just one run, are in one of the states. */
  all: boolean;
  waitMs: number;
  limit: number;
  position?: Position | undefined;
  /**
   * Some runs do not exist for the caller (access.md#limits). Cursors then have no positions in pools, which
   * name runs that were looked at.
   */
  hidesRuns?: boolean | undefined;
}

/**
 * A call that waits in an object for a change. It resolves with the runs that have matched since the `Look`;
 * null: look again.
 */
export type Wait = (leftMs: number) => Promise<{ items: RunSummary[] } | null>;

/** What a query finds at one moment. */
export interface Look {
  /** The answer for this moment. */
  answer: RunList;
  /** Whether to give `answer` now, since a run matches or no run can ever match. */
  isOver: boolean;
  /** Groups of waits. It is time to look again when every wait of one group has resolved. */
  waits: Wait[][];
  /** Selects the runs for the answer, in the right order, from the runs that a wait has reported. */
  select: (news: RunSummary[]) => RunSummary[];
}
