// Are all runs that labels and pools select in one of the states, and if not, how many are missing?

import type { Objects, RunNews } from "../../objects/rpc.ts";
import type { RunList } from "../../schema/run/run.ts";
import { DroverError } from "../../shared/errors.ts";
import { isTerminal, RUN_STATES } from "../../shared/run-state.ts";
import { hasCode } from "../http/problem.ts";
import type { Hold } from "./hold.ts";
import type { RunQuestion } from "./question.ts";
import { listRuns } from "./run-list.ts";

/**
 * Waits until all runs that the labels and pools select are in one of the states (api.md#wait-for-all). The
 * answer has the runs that have reached one, and says whether these are all.
 */
export async function queryAllOf(objects: Objects, question: RunQuestion, hold: Hold): Promise<RunList> {
  const { states, labels, pools, limit, position } = question;
  for (;;) {
    const ended = await hold.ask((leftMs) => lookAtEnded(objects, question, leftMs));
    const ask = (waitMs: () => number) =>
      Promise.all(
        pools.map((name) => missingIn(objects, question, hold, name, waitMs, ended.marks.get(name))),
      );
    let missing = await ask(() => (ended.missed ? 0 : hold.leftMs));
    // A pool whose runs matched early may have new runs by now.
    if (pools.length > 1) missing = await ask(() => 0);
    const counts = missing.filter((one) => one !== null);
    const open = counts.reduce((sum, one) => sum + one.open, 0);
    const possible = !ended.missed && !counts.some(({ missed }) => missed);
    if (counts.length < missing.length || (open > 0 && possible && hold.leftMs > 0)) continue;
    const { marks: _, ...found } = await hold.ask(() =>
      listRuns(objects, pools, { states, labels }, { limit, position }),
    );
    return { ...found, all: { holds: open === 0 && possible && ended.isSure, open, possible } };
  }
}

/**
 * Whether a selected run has ended in another state, and the mark of each pool at that moment, since pools
 * watch only live runs. The result is uncertain while a pool does not answer.
 */
async function lookAtEnded(
  objects: Objects,
  { labels, pools, ...question }: RunQuestion,
  leftMs: number,
): Promise<{ missed: boolean; isSure: boolean; marks: Map<string, string> }> {
  const states = RUN_STATES.filter((state) => isTerminal(state) && !question.states.includes(state));
  if (states.length === 0) return { missed: false, isSure: true, marks: new Map() };
  const { items, service, marks } = await listRuns(objects, pools, { states, labels }, { limit: 1 });
  const silent = service.find(({ initialized, healthy }) => initialized && !healthy);
  const missed = items.length > 0;
  if (!missed && silent !== undefined && leftMs > 0) throw new DroverError("unavailable", silent.error ?? "");
  return { missed, isSure: silent === undefined, marks };
}

/** Waits until no run of a pool is missing; null: look again. A pool that does not exist has no runs. */
async function missingIn(
  objects: Objects,
  { states, labels, pools }: RunQuestion,
  hold: Hold,
  pool: string,
  waitMs: () => number,
  mark: string | undefined,
): Promise<Omit<RunNews, "items"> | null> {
  const wait = { states, labels, all: true };
  try {
    return await hold.ask(() => objects.pool(pool).wait(wait, waitMs(), mark));
  } catch (error) {
    if (pools.length > 1 && hasCode(error, "unknown_pool")) return { open: 0, missed: false };
    throw error;
  }
}
