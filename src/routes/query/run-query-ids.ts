import type { Objects, RunFilter } from "../../objects/rpc.ts";
import type { RunList, RunSummary } from "../../schema/run/run.ts";
import { isTerminal } from "../../shared/run-state.ts";
import { PARALLEL_CALLS } from "../http/parallel.ts";
import { firstMatch } from "./first-match.ts";
import { Hold } from "./hold.ts";
import type { RunQuestion } from "./question.ts";
import { type Found, lookUp, summaryOf } from "./run-lookup.ts";

/** Answers a query by ids: the matches in the order of the ids, as often as they are named. */
export async function queryIds(objects: Objects, question: RunQuestion, ids: string[]): Promise<RunList> {
  const hold = new Hold(question.waitMs);
  const distinct = [...new Set(ids)];
  const told = new Map<string, RunSummary>();
  const { pools } = question;
  for (let isFirst = true; ; isFirst = false) {
    // Only the first look doubts the pools: what has changed since, they have said.
    const isDoubtful = ({ state }: RunSummary) => isFirst && !question.states.includes(state);
    const found = await hold.ask(() => lookUp(objects, { ids: distinct, pools, isDoubtful, told }));
    const runs = distinct.flatMap((id) => found.known.get(id) ?? []).filter((run) => fits(run, question));
    const open = runs.filter((run) => isOpen(run, question));
    const missed = runs.some((run) => !question.states.includes(run.state) && !isOpen(run, question));
    const answer = listOf(ids, found, question);
    const isOver = open.length === 0 || (question.all ? missed : answer.items.length > 0);
    if (isOver || hold.leftMs === 0) {
      const holds = open.length === 0 && !missed;
      return question.all ? { ...answer, all: { holds, open: open.length, possible: !missed } } : answer;
    }
    const first = await waitFor(objects, question, hold, { open, found, told });
    if (question.all || (pools.length > 1 && open.length > 1)) continue;
    // Nothing had matched before: what has, now, are all that do.
    for (const run of first) found.known.set(run.id, run);
    const now = listOf(ids, found, question);
    if (now.items.length > 0) return now;
  }
}

function listOf(ids: readonly string[], { known, service }: Found, question: RunQuestion): RunList {
  const runs = ids.flatMap((id) => known.get(id) ?? []);
  const items = runs.filter((run) => question.states.includes(run.state) && fits(run, question));
  return { items, next: null, service };
}

/** Whether a run is selected, whatever its state: by its labels, which may change, and its pool. */
function fits(run: RunSummary, { labels, pools, onlyThesePools }: RunQuestion): boolean {
  if (onlyThesePools && !pools.includes(run.pool)) return false;
  return Object.entries(labels).every(([name, value]) => run.labels[name] === value);
}

/** Whether waiting can help. A path is pending, running, end, or pending, end (api.md#states). */
function isOpen({ state }: RunSummary, { states }: RunQuestion): boolean {
  if (isTerminal(state) || states.includes(state)) return false;
  return states.some((wanted) => wanted === "running" || isTerminal(wanted));
}

/**
 * Holds while nothing that matters has changed; what it answers with has. Pools are asked about the runs that
 * they have; a run that its pool lacks is asked itself, and so is one alone, since it cannot lag.
 */
async function waitFor(
  objects: Objects,
  { states, labels, all }: RunQuestion,
  hold: Hold,
  { open, found, told }: { open: RunSummary[]; found: Found; told: Map<string, RunSummary> },
): Promise<RunSummary[]> {
  const { inPools, known } = found;
  const alone = open.length === 1;
  const itself = async ({ id }: RunSummary): Promise<RunSummary[]> => {
    const run = summaryOf(await hold.ask((leftMs) => objects.allocation(id).wait(states, leftMs)));
    told.set(id, run);
    return [run];
  };
  const strangers = open.filter(({ id }) => alone || !inPools.has(id)).slice(0, PARALLEL_CALLS);
  const byPool = Map.groupBy(alone ? [] : open.filter(({ id }) => inPools.has(id)), ({ pool }) => pool);
  const filters = [...byPool].map(([name, runs]): [string, RunFilter] => {
    return [name, { ids: runs.map(({ id }) => id), states, labels }];
  });
  const own = strangers.map(itself);
  // One wait that names all of them hears of their deletions by itself, and so does a run about its own.
  const isOne = open.length === known.size && own.length + filters.length === 1;
  const gone = isOne ? [] : whenGone(objects, found, hold);
  if (!all) {
    const wait = ([name, filter]: [string, RunFilter]) =>
      hold.ask((leftMs) => objects.pool(name).wait(filter, leftMs));
    return Promise.race([firstMatch([...own, ...filters.map(wait)]), ...gone]);
  }
  const settled = filters.map(([name, filter]) =>
    hold.ask((leftMs) => objects.pool(name).settled(filter, leftMs)),
  );
  await Promise.race([Promise.all([...own, ...settled]), ...gone]);
  return [];
}

/**
 * For each pool: holds until a run is deleted that it has told of; the look that follows meets that. What is
 * waited for does not depend on it, so a pool that cannot tell fails nothing.
 */
function whenGone(objects: Objects, { known, marks }: Found, hold: Hold): Promise<[]>[] {
  const byPool = Map.groupBy(known.values(), ({ pool }) => pool);
  return [...byPool].flatMap(([name, runs]) => {
    const mark = marks.get(name);
    if (mark === undefined) return [];
    const ids = runs.map(({ id }) => id);
    const held = hold.ask((leftMs) => objects.pool(name).gone(ids, leftMs, mark));
    return held.then(
      () => [],
      () => new Promise<[]>(() => {}),
    );
  });
}
