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

/** Answers at once if something matches, else as soon as something does, else with nothing in time. */
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
    // A short state is over by now, and has been all the same.
    if (answer.items.length === 0 && news.length > 0) return { ...answer, items: news.slice(0, limit) };
    if (isOver || hold.leftMs === 0) return answer;
    const waits = wait();
    news = select(await firstOf(waits));
    // Before, nothing matched: what does now at the one place there is, are all matches.
    if (waits.length === 1 && news.length > 0 && news.length <= limit) return { ...answer, items: news };
  }
}

/** No ids match nothing, and no pool needs to be asked about it. */
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
    // A pool that could not be asked has no mark, and is to be listed as soon as it can.
    wait: () =>
      pools.map((name) => newsOf(objects, hold, name, { states, labels, all: false }, marks.get(name) ?? "")),
    select: (news) => {
      const selected = news.filter((run) => isAfter(placeOf(run), position));
      return selected.sort((a, b) => newestFirst(placeOf(a), placeOf(b)));
    },
  };
}

/** What the first wait ends with. One that fails hides no other; if all fail, so does this. */
async function firstOf(waits: Promise<RunSummary[]>[]): Promise<RunSummary[]> {
  try {
    return await Promise.any(waits);
  } catch (error) {
    throw asDroverError(error instanceof AggregateError ? error.errors[0] : error);
  }
}
