import type { Objects } from "../../objects/rpc.ts";
import type { RunList } from "../../schema/run/run.ts";
import { isAfter, newestFirst } from "./cursor.ts";
import { firstMatch } from "./first-match.ts";
import { Hold } from "./hold.ts";
import type { RunQuestion } from "./question.ts";
import { listRuns, placeOf } from "./run-list.ts";
import { queryAllOf } from "./run-query-all.ts";
import { queryIds } from "./run-query-ids.ts";

/**
 * Answers a query at once if something matches, else as soon as something does, else with nothing in time.
 */
export async function answerQuery(objects: Objects, question: RunQuestion): Promise<RunList> {
  const { ids } = question;
  if (ids?.length === 0) return question.all ? { ...NOTHING, all: NOT_ONE } : NOTHING;
  if (ids !== undefined) return queryIds(objects, question, ids);
  return question.all ? queryAllOf(objects, question) : queryFirst(objects, question);
}

/** No ids match nothing, and no pool needs to be asked about it. */
const NOTHING: RunList = { items: [], next: null, service: [] };
/** And of nothing, nothing is missing. */
const NOT_ONE = { holds: true, open: 0, possible: true };

async function queryFirst(objects: Objects, question: RunQuestion): Promise<RunList> {
  const { states, labels, pools, limit, position } = question;
  const hold = new Hold(question.waitMs);
  const filter = { states, labels };
  for (;;) {
    const { marks, ...found } = await hold.ask(() => listRuns(objects, pools, filter, { limit, position }));
    if (found.items.length > 0 || hold.leftMs === 0 || states.length === 0) return found;
    const wait = (name: string) =>
      hold.ask((leftMs) => objects.pool(name).wait(filter, leftMs, marks.get(name)));
    const first = await firstMatch(pools.map(wait));
    const items = first.filter((run) => isAfter(placeOf(run), position));
    items.sort((a, b) => newestFirst(placeOf(a), placeOf(b)));
    if (items.length === 0) continue;
    // Nothing had matched before: of one pool they are all that there are, if a page has room for them.
    if (pools.length === 1 && items.length <= limit) return { ...found, items };
    const { marks: _, ...now } = await hold.ask(() => listRuns(objects, pools, filter, { limit, position }));
    // A state that was short is over by now, and has been all the same.
    return now.items.length > 0 ? now : { ...found, items: items.slice(0, limit) };
  }
}
