// Which runs with the given ids match, which of them still can, and where is that heard of?

import type { Objects } from "../../objects/rpc.ts";
import type { RunSummary } from "../../schema/run/run.ts";
import { isTerminal } from "../../shared/run-state.ts";
import { PARALLEL_CALLS } from "../http/parallel.ts";
import type { Hold } from "./hold.ts";
import { type Look, newsOf, type RunQuestion } from "./question.ts";
import { type Found, lookUp } from "./run-lookup.ts";

/** Looks at runs by their ids: the matches are in the order of the ids, as often as they are named. */
export function lookAtIds(
  objects: Objects,
  question: RunQuestion,
  hold: Hold,
  ids: readonly string[],
): () => Promise<Look> {
  const { states, all, pools } = question;
  const distinct = [...new Set(ids)];
  const told = new Map<string, RunSummary>();
  const matchesIn = (runs: ReadonlyMap<string, RunSummary>) => {
    const inOrder = ids.flatMap((id) => runs.get(id) ?? []);
    return inOrder.filter((run) => states.includes(run.state) && isSelected(run, question));
  };
  // Only the first look doubts the pools: what has changed since, they have said.
  let isDoubtful = ({ state }: RunSummary) => !states.includes(state);
  return async () => {
    const found = await hold.ask(() => lookUp(objects, { ids: distinct, pools }, isDoubtful, told));
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
      wait: () => waitsFor(objects, question, hold, { open, found, told }),
      select: (news) => (all ? [] : matchesIn(new Map(news.map((run) => [run.id, run])))),
    };
  };
}

/** Whether a run is selected, whatever its state: by its labels, which may change, and its pool. */
function isSelected(run: RunSummary, { labels, pools, onlyThesePools }: RunQuestion): boolean {
  if (onlyThesePools && !pools.includes(run.pool)) return false;
  return Object.entries(labels).every(([name, value]) => run.labels[name] === value);
}

/** Whether waiting can help. A path is pending, running, end, or pending, end (api.md#states). */
function isOpen({ state }: RunSummary, { states }: RunQuestion): boolean {
  return !isTerminal(state) && states.some((wanted) => wanted === "running" || isTerminal(wanted));
}

/**
 * The waits that end when something has changed. A pool watches all of the ids that are its runs', since one
 * that has ended may be deleted. A run that its pool lacks is asked itself, and so is one that is asked for
 * alone: it is the first to know.
 */
function waitsFor(
  objects: Objects,
  { states, labels, all }: RunQuestion,
  hold: Hold,
  { open, found, told }: { open: RunSummary[]; found: Found; told: Map<string, RunSummary> },
): Promise<RunSummary[]>[] {
  const { inPools, known, marks } = found;
  const isAlone = known.size === 1;
  const strangers = open.filter(({ id }) => isAlone || !inPools.has(id)).slice(0, PARALLEL_CALLS);
  const own = strangers.map(async ({ id }) => {
    const run = await hold.ask((leftMs) => objects.allocation(id).summary(states, leftMs));
    told.set(id, run);
    return [run];
  });
  const byPool = Map.groupBy(isAlone ? [] : known.values(), ({ pool }) => pool);
  const inTheirs = [...byPool].flatMap(([name, runs]) => {
    const mark = marks.get(name);
    const ids = runs.map(({ id }) => id);
    return mark === undefined ? [] : newsOf(objects, hold, name, { ids, states, labels, all }, mark);
  });
  // Of all that are waited for, the first to end is no reason to look again.
  return [...(all && own.length > 0 ? [Promise.all(own).then((runs) => runs.flat())] : own), ...inTheirs];
}
