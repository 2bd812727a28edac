// How is a query for runs answered: now, or as soon as something matches?
import type { Objects } from "../../objects/rpc.ts";
import type { RunList, RunSummary } from "../../schema/run/run.ts";
import { asDroverError } from "../http/problem.ts";
import { Hold } from "./hold.ts";
import type { RunQuestion } from "./question.ts";
import { lookAtIds } from "./run-query-ids.ts";
import { lookAtPools, queryAllOf } from "./run-query-pools.ts";

/**
 * Answers as soon as a run matches, perhaps at once. If no run matches, answers without runs when the wait
 * ends.
 */
export async function answerQuery(objects: Objects, question: RunQuestion): Promise<RunList> {
  const { ids, all } = question;
  if (ids?.length === 0) return all ? { ...NOTHING, all: NONE_MISSING } : NOTHING;
  const hold = new Hold(question.waitMs);
  if (ids === undefined && all) return queryAllOf(objects, question, hold);
  const look = ids === undefined ? lookAtPools(objects, question) : lookAtIds(objects, question, ids);
  const limit = ids?.length ?? question.limit; // with ids there are no pages
  let news: RunSummary[] = [];
  for (;;) {
    const { answer, isOver, waits, select } = await hold.ask(look);
    // A wait has reported that these runs matched. They may have left that state again before this look.
    if (answer.items.length === 0 && news.length > 0) return { ...answer, items: news.slice(0, limit) };
    if (isOver || hold.leftMs === 0) return answer;
    const groups = waits.map((group) => Promise.all(group.map((wait) => hold.ask(wait))));
    news = select((await firstOf(groups)).flatMap((one) => one?.items ?? []));
    // Nothing matched before, and only one object was asked, so there are no other matches.
    if (waits.length === 1 && news.length > 0 && news.length <= limit) return { ...answer, items: news };
  }
}

/** The answer for an empty list of ids, which needs no pool. */
const NOTHING: RunList = { items: [], next: null, service: [] };
const NONE_MISSING = { holds: true, open: 0, possible: true };

/** The result of the first wait that succeeds. Fails only if all waits fail. */
async function firstOf<News>(waits: Promise<News>[]): Promise<News> {
  try {
    return await Promise.any(waits);
  } catch (error) {
    throw asDroverError(error instanceof AggregateError ? error.errors[0] : error);
  }
}
