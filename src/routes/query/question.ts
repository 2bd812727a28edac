// What does a query for runs ask, and what does a look at them find?

import type { Objects, RunWait } from "../../objects/rpc.ts";
import type { RunList, RunState, RunSummary } from "../../schema/run/run.ts";
import type { Position } from "./cursor.ts";
import type { Hold } from "./hold.ts";

/** What a query asks, in whichever way it came (api.md#query). */
export interface RunQuestion {
  /** Absent: all runs. */
  ids?: string[] | undefined;
  states: RunState[];
  labels: Record<string, string>;
  /** The names of the pools to ask. */
  pools: readonly string[];
  /** Whether only runs of these pools can match. */
  onlyThesePools: boolean;
  /** Wait until all that are selected are in one of the states, and not only one. */
  all: boolean;
  waitMs: number;
  limit: number;
  position?: Position | undefined;
}

/** What one look at the runs has found. */
export interface Look {
  /** The answer, if it is given now. */
  answer: RunList;
  /** It is given now: there is a match, or none can come. */
  isOver: boolean;
  /** Each wait ends when something has changed, with the runs that have come to match. */
  wait: () => Promise<RunSummary[]>[];
  /** Of those the runs that the question selects, in the order of an answer. */
  select: (news: RunSummary[]) => RunSummary[];
}

/** Waits at a pool until there is news for the question; none means to look again. */
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
