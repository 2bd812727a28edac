// What does a query for runs ask, and what is found at one moment?

import type { Objects, RunWait } from "../../objects/rpc.ts";
import type { RunList, RunState, RunSummary } from "../../schema/run/run.ts";
import type { Position } from "./cursor.ts";
import type { Hold } from "./hold.ts";

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

/** What a query finds at one moment. */
export interface Look {
  /** The answer for this moment. */
  answer: RunList;
  /** Whether to give that answer now: there is a match, or there can be none. */
  isOver: boolean;
  /** Starts the waits. Each resolves at a change, with the runs that have matched since this look. */
  wait: () => Promise<RunSummary[]>[];
  /** Selects the runs of the answer from those that match, in the right order. */
  select: (news: RunSummary[]) => RunSummary[];
}

/** Waits at a pool until runs match the question. If the result is empty, the caller must look again. */
export async function newsOf(
  objects: Objects,
  hold: Hold,
  pool: string,
  question: RunWait,
  mark: string,
): Promise<RunSummary[]> {
  const news = await hold.ask((leftMs) => objects.pool(pool).wait(question, leftMs, mark));
  return news?.items ?? [];
}
