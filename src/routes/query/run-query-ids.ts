// Which runs with the given ids match, which still can, and which objects report that?

import type { Objects } from "../../objects/rpc.ts";
import type { RunSummary } from "../../schema/run/run.ts";
import { isTerminal } from "../../shared/run-state.ts";
import { PARALLEL_CALLS } from "../http/parallel.ts";
import type { Hold } from "./hold.ts";
import { type Look, newsOf, type RunQuestion } from "./question.ts";
import { type Found, lookUp } from "./run-lookup.ts";

/** Finds runs by their ids. The matches are in the order of the ids; an id given twice matches twice. */
export function lookAtIds(
  objects: Objects,
  question: RunQuestion,
  hold: Hold,
  ids: readonly string[],
): () => Promise<Look> {
  const { states, all, pools } = question;
  const distinct = [...new Set(ids)];
  const summaries = new Map<string, RunSummary>();
  const matchesIn = (runs: ReadonlyMap<string, RunSummary>) => {
    const inOrder = ids.flatMap((id) => runs.get(id) ?? []);
    return inOrder.filter((run) => states.includes(run.state) && isSelected(run, question));
  };
  // Only the first look doubts the pools: later changes come from their own waits.
  let isDoubtful = ({ state }: RunSummary) => !states.includes(state);
  return async () => {
    const found = await hold.ask(() => lookUp(objects, { ids: distinct, pools }, isDoubtful, summaries));
    isDoubtful = () => false;
    const selected = [...found.known.values()].filter((run) => isSelected(run, question));
    const others = selected.filter(({ state }) => !states.includes(state));
    const open = others.filter((run) => isOpen(run, question));
    const missed = open.length < others.length;
    const items = matchesIn(found.known);
    const answer = { items, next: null, service: found.service };
    const holds = { holds: others.length === 0, open: open.length, possible: !missed };
    return {
      answer: all ? { ...answer, all: holds } : answer,
      isOver: open.length === 0 || (all ? missed : items.length > 0),
      wait: () => waitsFor(objects, question, hold, { open, found, summaries }),
      select: (news) => (all ? [] : matchesIn(new Map(news.map((run) => [run.id, run])))),
    };
  };
}

/** Whether the labels, which may change, and the pool of a run match. Its state does not matter. */
function isSelected(run: RunSummary, { labels, pools, onlyThesePools }: RunQuestion): boolean {
  if (onlyThesePools && !pools.includes(run.pool)) return false;
  return Object.entries(labels).every(([name, value]) => run.labels[name] === value);
}

/**
 * Whether a run can still reach one of the states: from pending to running to an end state (api.md#states).
 */
function isOpen({ state }: RunSummary, { states }: RunQuestion): boolean {
  return !isTerminal(state) && states.some((wanted) => wanted === "running" || isTerminal(wanted));
}

/**
 * The waits, each of which ends at a change. A pool watches all ids of its runs, even those of ended runs,
 * which may be deleted. The allocation itself is asked about a run that its pool lacks, and about a single
 * run, since the allocation knows first.
 */
function waitsFor(
  objects: Objects,
  { states, labels, all }: RunQuestion,
  hold: Hold,
  { open, found, summaries }: { open: RunSummary[]; found: Found; summaries: Map<string, RunSummary> },
): Promise<RunSummary[]>[] {
  const { inPools, known, marks } = found;
  const isAlone = known.size === 1;
  const unlisted = open.filter(({ id }) => isAlone || !inPools.has(id)).slice(0, PARALLEL_CALLS);
  const ofRuns = unlisted.map(async ({ id }) => {
    const run = await hold.ask((leftMs) => objects.allocation(id).summary(states, leftMs));
    summaries.set(id, run);
    return [run];
  });
  const byPool = Map.groupBy(isAlone ? [] : known.values(), ({ pool }) => pool);
  const ofPools = [...byPool].flatMap(([name, runs]) => {
    const mark = marks.get(name);
    const ids = runs.map(({ id }) => id);
    return mark === undefined ? [] : newsOf(objects, hold, name, { ids, states, labels, all }, mark);
  });
  // When waiting for all runs, the first end is no reason to look again.
  return [
    ...(all && ofRuns.length > 0 ? [Promise.all(ofRuns).then((runs) => runs.flat())] : ofRuns),
    ...ofPools,
  ];
}
