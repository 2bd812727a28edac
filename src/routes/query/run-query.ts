// How is a query for runs answered: now, or as soon as something matches?

import type { Objects } from "../../objects/rpc.ts";
import type { RunList, RunSummary } from "../../schema/run/run.ts";
import { asDroverError } from "../http/problem.ts";
import { isAfter, newestFirst } from "./cursor.ts";
import { Hold } from "./hold.ts";
import { type Look, newsOf, type RunQuestion } from "./question.ts";
import { listRuns, placeOf } from "./run-list.ts";
import { queryAllOf } from "./run-query-all.ts";
import { lookAtIds } from "./run-query-ids.ts";

/** Answers at once if a run matches, else as soon as one does, else without runs at the end of the wait. */
export async function answerQuery(objects: Objects, question: RunQuestion): Promise<RunList> {
  const { ids, all } = question;
  if (ids?.length === 0) return all ? { ...NOTHING, all: NONE_MISSING } : NOTHING;
  const hold = new Hold(question.waitMs);
  if (ids === undefined && all) return queryAllOf(objects, question, hold);
  const look =
    ids === undefined ? () => lookAtPools(objects, question, hold) : lookAtIds(objects, question, hold, ids);
  const limit = ids?.length ?? question.limit; // with ids there are no pages
  let news: RunSummary[] = [];
  for (;;) {
    const { answer, isOver, wait, select } = await look();
    // The run has matched meanwhile, even if a short state is over by now.
    if (answer.items.length === 0 && news.length > 0) return { ...answer, items: news.slice(0, limit) };
    if (isOver || hold.leftMs === 0) return answer;
    const waits = wait();
    news = select(await firstOf(waits));
    // Nothing matched before, and only one object was asked: its matches are all there are.
    if (waits.length === 1 && news.length > 0 && news.length <= limit) return { ...answer, items: news };
  }
}

/** The answer for an empty list of ids, which needs no pool. */
const NOTHING: RunList = { items: [], next: null, service: [] };
const NONE_MISSING = { holds: true, open: 0, possible: true };

async function lookAtPools(objects: Objects, question: RunQuestion, hold: Hold): Promise<Look> {
  const { states, labels, pools, limit, position } = question;
  const { marks, ...answer } = await hold.ask(() =>
    listRuns(objects, pools, { states, labels }, { limit, position }),
  );
  return {
    answer,
    isOver: answer.items.length > 0 || states.length === 0 || pools.length === 0,
    // A pool that did not answer has no mark: list it again as soon as it answers.
    wait: () =>
      pools.map((name) => newsOf(objects, hold, name, { states, labels, all: false }, marks.get(name) ?? "")),
    select: (news) => {
      const selected = news.filter((run) => isAfter(placeOf(run), position));
      return selected.sort((a, b) => newestFirst(placeOf(a), placeOf(b)));
    },
  };
}

/** The result of the first wait that succeeds. Fails only if all waits fail. */
async function firstOf(waits: Promise<RunSummary[]>[]): Promise<RunSummary[]> {
  try {
    return await Promise.any(waits);
  } catch (error) {
    throw asDroverError(error instanceof AggregateError ? error.errors[0] : error);
  }
}
