// What does a query for runs ask, and what is found at one moment?
import type { RunList, RunState, RunSummary } from "../../schema/run/run.ts";
import type { Position } from "./cursor.ts";

/** A query, from the parameters or the body of a request (api.md#query). */
export interface RunQuestion {
  /** Absent: all runs. */
  ids?: string[] | undefined;
  states: RunState[];
  labels: Record<string, string>;
  /** The names of the pools to ask. */
  pools: readonly string[];
  /** Whether only runs of these pools can match. */
  onlyThesePools: boolean;
  /** Wait until all selected runs are in one of the states, instead of one run. */
  all: boolean;
  waitMs: number;
  limit: number;
  position?: Position | undefined;
}

/**
 * A call that waits at an object. It resolves at a change, with the runs that have matched since the look;
 * null: look again.
 */
export type Wait = (leftMs: number) => Promise<{ items: RunSummary[] } | null>;

/** What a query finds at one moment. */
export interface Look {
  /** The answer for this moment. */
  answer: RunList;
  /** Whether to give that answer now: there is a match, or there can be none. */
  isOver: boolean;
  /** What to wait for: until all waits of one of these groups have resolved. */
  waits: Wait[][];
  /** Selects the runs of the answer from those that match, in the right order. */
  select: (news: RunSummary[]) => RunSummary[];
}
