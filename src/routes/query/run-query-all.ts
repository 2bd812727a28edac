import type { Objects, Unsettled } from "../../objects/rpc.ts";
import type { RunList } from "../../schema/run/run.ts";
import { DroverError } from "../../shared/errors.ts";
import { isTerminal, RUN_STATES } from "../../shared/run-state.ts";
import { hasCode } from "../http/problem.ts";
import { Hold } from "./hold.ts";
import type { RunQuestion } from "./question.ts";
import { listRuns } from "./run-list.ts";

/**
 * Waits until all runs that the labels and pools select are in one of the states (api.md#wait-for-all). The
 * answer has those that are, and says whether these are all.
 */
export async function queryAllOf(objects: Objects, question: RunQuestion): Promise<RunList> {
  const { states, labels, pools, limit, position } = question;
  const hold = new Hold(question.waitMs);
  let ended = await lookAtEnded(objects, question, hold);
  for (;;) {
    const { missed } = ended;
    const { open, missed: justMissed } = await unsettled(objects, question, hold, missed ? 0 : hold.leftMs);
    // Pools tell of live runs alone: what has ended since the look, or while its pool was away, they do not.
    if (!missed) ended = await lookAtEnded(objects, question, hold);
    const possible = !ended.missed && !justMissed;
    if (open > 0 && possible && hold.leftMs > 0) continue;
    const { marks: _, ...found } = await hold.ask(() =>
      listRuns(objects, pools, { states, labels }, { limit, position }),
    );
    return { ...found, all: { holds: open === 0 && possible && ended.isSure, open, possible } };
  }
}

/** Whether one has ended in none of the states; not sure while there is a pool that does not answer. */
async function lookAtEnded(
  objects: Objects,
  question: RunQuestion,
  hold: Hold,
): Promise<{ missed: boolean; isSure: boolean }> {
  const { labels, pools } = question;
  const states = RUN_STATES.filter((state) => isTerminal(state) && !question.states.includes(state));
  if (states.length === 0) return { missed: false, isSure: true };
  return hold.ask(async (leftMs) => {
    const { items, service } = await listRuns(objects, pools, { states, labels }, { limit: 1 });
    const silent = service.find(({ initialized, healthy }) => initialized && !healthy);
    const missed = items.length > 0;
    if (!missed && silent !== undefined && leftMs > 0)
      throw new DroverError("unavailable", silent.error ?? "");
    return { missed, isSure: silent === undefined };
  });
}

/**
 * Holds until nothing is open in any pool. While one is waited for, others may get new runs: all count now.
 */
async function unsettled(
  objects: Objects,
  { states, labels, pools }: RunQuestion,
  hold: Hold,
  waitMs: number,
): Promise<Unsettled> {
  const ask = async (name: string, ms: () => number): Promise<Unsettled> => {
    try {
      return await hold.ask(() => objects.pool(name).settled({ states, labels }, ms()));
    } catch (error) {
      // A pool that has gone, or is about to be made, has no runs.
      if (pools.length > 1 && hasCode(error, "unknown_pool")) return { open: 0, missed: false };
      throw error;
    }
  };
  const waited = await Promise.all(pools.map((name) => ask(name, () => Math.min(waitMs, hold.leftMs))));
  const now = waited.length === 1 ? waited : await Promise.all(pools.map((name) => ask(name, () => 0)));
  return {
    open: now.reduce((sum, { open }) => sum + open, 0),
    missed: [...waited, ...now].some(({ missed }) => missed),
  };
}
