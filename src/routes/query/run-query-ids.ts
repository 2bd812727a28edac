// Which runs with the given ids match, which can still match, and which objects report their changes?
import type { Objects } from "../../objects/rpc.ts";
import type { RunSummary, ServiceStatus } from "../../schema/run/run.ts";
import { DroverError } from "../../shared/errors.ts";
import { isTerminal, RUN_STATES } from "../../shared/run-state.ts";
import { inParallel, PARALLEL_CALLS } from "../http/parallel.ts";
import { hasCode } from "../http/problem.ts";
import { askPools } from "./fan-out.ts";
import type { Look, RunQuestion, Wait } from "./question.ts";

/** The most ids in one call to a pool: one page has room for this many runs. */
const IDS_PER_CALL = 1_000;

/** Finds runs by their ids. The matches are in the order of the ids; an id given twice matches twice. */
export function lookAtIds(
  objects: Objects,
  question: RunQuestion,
  ids: readonly string[],
): () => Promise<Look> {
  const { states, all, pools } = question;
  const distinct = [...new Set(ids)];
  const summaries = new Map<string, RunSummary>();
  const matchesIn = (runs: ReadonlyMap<string, RunSummary>) => {
    const inOrder = ids.flatMap((id) => runs.get(id) ?? []);
    return inOrder.filter((run) => states.includes(run.state) && isSelected(run, question));
  };
  // Only the first look doubts the rows of pools. The waits report all later changes.
  let isDoubtful = ({ state }: RunSummary) => !states.includes(state);
  // Where any end matches, one run that goes on decides the answer, so the others need not be asked.
  const isAnyEnd = RUN_STATES.filter(isTerminal).every((state) => states.includes(state));
  const isEnough = (run: RunSummary) =>
    all && isAnyEnd && !states.includes(run.state) && isSelected(run, question);
  return async () => {
    const found = await lookUp(objects, { ids: distinct, pools }, { isDoubtful, isEnough }, summaries);
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
      waits: waitsFor(objects, question, { open, found, summaries }),
      select: (news) => (all ? [] : matchesIn(new Map(news.map((run) => [run.id, run])))),
    };
  };
}

/**
 * Whether a run has the right labels, which may change, and the right array and pool. The run's state does
 * not matter.
 */
function isSelected(run: RunSummary, { labels, array, pools, onlyThesePools }: RunQuestion): boolean {
  if (onlyThesePools && !pools.includes(run.pool)) return false;
  if (array !== undefined && run.array?.id !== array) return false;
  return Object.entries(labels).every(([name, value]) => run.labels[name] === value);
}

/**
 * Whether a run can still reach one of the states: from pending to running to an end state (api.md#states).
 */
function isOpen({ state }: RunSummary, { states }: RunQuestion): boolean {
  return !isTerminal(state) && states.some((wanted) => wanted === "running" || isTerminal(wanted));
}

/**
 * The waits, each of which ends at a change. Each pool watches its own runs among the ids, even ended runs,
 * since an ended run may be deleted. An allocation watches its run if the pool does not list the run. If the
 * query has found only one run, the allocation of this run watches it, since the allocation is the first to
 * know of a change.
 */
function waitsFor(
  objects: Objects,
  { states, labels, array, all }: RunQuestion,
  { open, found, summaries }: { open: RunSummary[]; found: Found; summaries: Map<string, RunSummary> },
): Wait[][] {
  const { inPools, known, marks } = found;
  const isAlone = known.size === 1;
  const unlisted = open.filter(({ id }) => isAlone || !inPools.has(id)).slice(0, PARALLEL_CALLS);
  const ofRuns = unlisted.map(
    ({ id }): Wait =>
      async (leftMs) => {
        const run = await objects.allocation(id).summary(states, leftMs);
        summaries.set(id, run);
        return { items: [run] };
      },
  );
  const byPool = Map.groupBy(isAlone ? [] : known.values(), ({ pool }) => pool);
  const ofPools = [...byPool].flatMap(([name, runs]): Wait[][] => {
    const mark = marks.get(name);
    const asked = { ids: runs.map(({ id }) => id), states, labels, array, all };
    return mark === undefined ? [] : [[(leftMs) => objects.pool(name).wait(asked, leftMs, mark)]];
  });
  // With `all`, looking again makes sense only when every run that its own allocation watches has changed.
  const groups = all && ofRuns.length > 0 ? [ofRuns] : ofRuns.map((one) => [one]);
  return [...groups, ...ofPools];
}

/** The runs that were found by their ids. */
interface Found {
  known: Map<string, RunSummary>;
  /** The ids that pools list. */
  inPools: Set<string>;
  /** The mark of each pool's first answer. */
  marks: Map<string, string>;
  service: ServiceStatus[];
}

/** When a row of a pool may be outdated, and which answer of an allocation makes further ones unnecessary. */
interface Doubts {
  isDoubtful(row: RunSummary): boolean;
  isEnough(run: RunSummary): boolean;
}

/**
 * The current state of the runs with these ids. The state comes from a run's pool, or from its allocation if
 * the pool lacks the run, or has a row that `doubts` question. Only an allocation can say that an id does not
 * exist. Then the query fails with `unknown_run`, which names all such ids (api.md#query-1, api.md#query-5).
 * Adds the answers of allocations to `summaries`.
 */
async function lookUp(
  objects: Objects,
  { ids, pools }: { ids: readonly string[]; pools: readonly string[] },
  doubts: Doubts,
  summaries: Map<string, RunSummary>,
): Promise<Found> {
  const { answers, service } = await askPools(pools, (name) => listIds(objects, name, ids));
  const rows = [...answers.values()].flatMap(({ items }) => items);
  const known = new Map(rows.map((run) => [run.id, run]));
  // A run without a row may be deleted.
  const unlisted = ids.filter((id) => !known.has(id));
  await askAllocations(objects, unlisted, summaries);
  // A terminal state is final, so the row of the pool is enough.
  const inOrder = ids.flatMap((id) => known.get(id) ?? []);
  const doubtful = inOrder.filter((row) => !isTerminal(row.state) && doubts.isDoubtful(row));
  await resolveDoubts(objects, doubtful, doubts, summaries);
  for (const [id, run] of summaries) {
    const row = known.get(id);
    if (row === undefined || row.version <= run.version) known.set(id, run);
  }
  const marks = new Map([...answers].map(([name, { mark }]) => [name, mark]));
  return { known, inPools: new Set(rows.map(({ id }) => id)), marks, service };
}

/** Asks the allocations of these rows, a few at a time, until an answer is enough. */
async function resolveDoubts(
  objects: Objects,
  rows: readonly RunSummary[],
  { isEnough }: Doubts,
  summaries: Map<string, RunSummary>,
): Promise<void> {
  for (let from = 0; from < rows.length; from += PARALLEL_CALLS) {
    const ids = rows.slice(from, from + PARALLEL_CALLS).map(({ id }) => id);
    const asked = await askAllocations(objects, ids, summaries);
    if (asked.some(isEnough)) return;
  }
}

/** The answers of these runs' allocations, which are added to `summaries` as well. */
async function askAllocations(
  objects: Objects,
  ids: readonly string[],
  summaries: Map<string, RunSummary>,
): Promise<RunSummary[]> {
  const unknown = new Set<string>();
  const expired = new Set<string>();
  await inParallel(ids, async (id) => {
    try {
      summaries.set(id, await objects.allocation(id).summary());
    } catch (error) {
      if (hasCode(error, "unknown_run")) unknown.add(id);
      else if (hasCode(error, "expired_run")) expired.add(id);
      else throw error;
    }
  });
  if (unknown.size > 0) throw unknownRuns(ids.filter((id) => unknown.has(id)));
  if (expired.size > 0) {
    const text = "some of these runs have been deleted; `runs` names them";
    throw new DroverError("expired_run", text, { extra: { runs: ids.filter((id) => expired.has(id)) } });
  }
  return ids.flatMap((id) => summaries.get(id) ?? []);
}

/** The runs of a pool with these ids, and the mark of the pool's first answer. */
async function listIds(
  objects: Objects,
  pool: string,
  ids: readonly string[],
): Promise<{ items: RunSummary[]; mark: string }> {
  const all = { states: [...RUN_STATES], labels: {} };
  const found: RunSummary[] = [];
  let first: string | undefined;
  for (let from = 0; from < ids.length; from += IDS_PER_CALL) {
    const some = { ...all, ids: ids.slice(from, from + IDS_PER_CALL) };
    const { items, mark } = await objects.pool(pool).list(some, { limit: IDS_PER_CALL });
    found.push(...items);
    first ??= mark;
  }
  return { items: found, mark: first ?? "" };
}

function unknownRuns(ids: string[]): DroverError {
  const [first] = ids;
  const text =
    ids.length === 1
      ? `there is no run "${first}"; \`drover ps\` lists the runs there are`
      : `there are no runs with ${ids.length} of these ids, such as "${first}"; \`runs\` names them`;
  return new DroverError("unknown_run", text, { extra: { runs: ids } });
}
