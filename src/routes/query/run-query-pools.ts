// Queries by labels, pools and a search: which selected runs match, and do all selected runs match?
import type { Objects } from "../../objects/rpc.ts";
import type { RunList } from "../../schema/run/run.ts";
import { DroverError } from "../../shared/errors.ts";
import { isTerminal, RUN_STATES } from "../../shared/run-state.ts";
import { hasCode } from "../http/problem.ts";
import { isAfter, newestFirst } from "./cursor.ts";
import type { Hold } from "./hold.ts";
import type { Look, RunQuestion } from "./question.ts";
import { listRuns, placeOf } from "./run-list.ts";

/** Finds the matching runs of pools, newest first. */
export function lookAtPools(objects: Objects, question: RunQuestion): () => Promise<Look> {
  const { states, labels, array, search, pools, limit, position, hidesRuns } = question;
  const filter = { ...search, states, labels, array };
  return async () => {
    const { marks, ...answer } = await listRuns(objects, pools, filter, { limit, position, hidesRuns });
    return {
      answer,
      isOver: answer.items.length > 0 || states.length === 0 || pools.length === 0,
      waits: pools.map((name) => {
        // A pool that did not answer has no mark: list it again as soon as it answers.
        const mark = marks.get(name) ?? "";
        return [(leftMs) => objects.pool(name).wait({ ...filter, all: false }, leftMs, mark)];
      }),
      select: (news) => {
        const selected = news.filter((run) => isAfter(placeOf(run), position));
        return selected.sort((a, b) => newestFirst(placeOf(a), placeOf(b)));
      },
    };
  };
}

/**
 * Waits until all runs that the labels and pools select are in one of the states (api.md#wait-for-all). The
 * answer has the runs that are in one of the states, and says whether these are all selected runs.
 */
export async function queryAllOf(objects: Objects, question: RunQuestion, hold: Hold): Promise<RunList> {
  const { states, labels, array, search, pools, limit, position, hidesRuns } = question;
  const filter = { ...search, states, labels, array };
  const asked = { ...filter, all: true };
  for (;;) {
    const ended = await lookAtEnded(objects, question, hold);
    /**
     * Asks each pool how many of its runs do not match: at once or, with `waits`, when the pool's part of the
     * answer is decided. Null: look again.
     */
    const missingIn = (waits: boolean) =>
      Promise.all(
        pools.map((name) => {
          const mark = ended.marks.get(name);
          const call = (leftMs: number) => objects.pool(name).wait(asked, waits ? leftMs : 0, mark);
          return hold.ask(call).catch((error: unknown) => {
            // A pool that does not exist has no runs.
            if (pools.length > 1 && hasCode(error, "unknown_pool")) return { open: 0, missed: false };
            throw error;
          });
        }),
      );
    let missing = await missingIn(!ended.missed);
    // While the request waited for one pool, another pool may have received new runs.
    if (pools.length > 1) missing = await missingIn(false);
    const counts = missing.filter((one) => one !== null);
    const open = counts.reduce((sum, one) => sum + one.open, 0);
    const possible = !ended.missed && !counts.some(({ missed }) => missed);
    if (counts.length < missing.length || (open > 0 && possible && hold.leftMs > 0)) continue;
    const { marks: _, ...found } = await hold.ask(() =>
      listRuns(objects, pools, filter, { limit, position, hidesRuns }),
    );
    return { ...found, all: { holds: open === 0 && possible && ended.isSure, open, possible } };
  }
}

/**
 * Looks for a selected run that has ended in a state other than `question.states`, since the waits of pools
 * watch only live runs. Also returns the mark of each pool at that moment. `isSure` is false if a pool did
 * not answer.
 */
async function lookAtEnded(
  objects: Objects,
  { labels, array, search, pools, ...question }: RunQuestion,
  hold: Hold,
): Promise<{ missed: boolean; isSure: boolean; marks: Map<string, string> }> {
  const states = RUN_STATES.filter((state) => isTerminal(state) && !question.states.includes(state));
  if (states.length === 0) return { missed: false, isSure: true, marks: new Map() };
  return hold.ask(async (leftMs) => {
    const { items, service, marks } = await listRuns(
      objects,
      pools,
      { ...search, states, labels, array },
      { limit: 1 },
    );
    const silent = service.find(({ initialized, healthy }) => initialized && !healthy);
    const missed = items.length > 0;
    if (!missed && silent !== undefined && leftMs > 0)
      throw new DroverError("unavailable", silent.error ?? "");
    return { missed, isSure: silent === undefined, marks };
  });
}
