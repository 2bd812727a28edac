import { DroverError } from "../core/errors.ts";
import { isTerminal, RUN_STATES } from "../core/run-state.ts";
import type { Objects, RunFilter } from "../objects/rpc.ts";
import type { RunList, RunSpecInput, RunState, RunStatus, RunSummary } from "../schema/run.ts";
import { askPools } from "./ask-pools.ts";
import type { Position } from "./cursor.ts";
import { inParallel } from "./parallel.ts";
import { asDroverError, hasCode } from "./problem.ts";
import { listRuns } from "./run-list.ts";

/** Ids in one call to a pool: as many as one page can answer. */
const IDS_PER_CALL = 1_000;
/** Characters of a command line in a list. */
const COMMAND_CHARS = 80;

/** What a query asks, in whichever way it came (`api.md`, Query semantics). */
export interface RunQuestion {
  /** Absent: all runs. */
  ids?: string[];
  states: RunState[];
  labels: Record<string, string>;
  /** The names of the pools to ask. */
  pools: readonly string[];
  /** Whether only runs of these pools can match. */
  onlyThesePools: boolean;
  waitMs: number;
  limit: number;
  position?: Position;
}

/**
 * Answers a query at once if something matches, else as soon as something does, else with nothing in time.
 */
export async function answerQuery(objects: Objects, question: RunQuestion): Promise<RunList> {
  const { ids } = question;
  if (ids === undefined) return queryAll(objects, question);
  return ids.length === 0 ? NOTHING : queryIds(objects, question, ids);
}

/** No ids match nothing, and no pool needs to be asked about it. */
const NOTHING: RunList = { items: [], next: null, service: [] };

async function queryAll(objects: Objects, question: RunQuestion): Promise<RunList> {
  const { states, labels, pools, waitMs, limit, position } = question;
  const filter: RunFilter = { states, labels };
  const found = await listRuns(objects, pools, filter, { limit, position });
  if (found.items.length > 0 || waitMs === 0 || states.length === 0) return found;
  const matches = await firstMatch(pools.map((name) => objects.pool(name).wait(filter, waitMs)));
  if (matches.length === 0) return found;
  const now = await listRuns(objects, pools, filter, { limit, position });
  return now.items.length > 0 ? now : { ...now, items: matches.slice(0, limit) };
}

async function queryIds(objects: Objects, question: RunQuestion, ids: string[]): Promise<RunList> {
  const { states, labels, pools, waitMs } = question;
  const { known, service } = await lookUp(objects, question, ids);
  const answer = (runs: Iterable<RunSummary>): RunList => {
    const byId = new Map(Array.from(runs, (run) => [run.id, run]));
    const items = ids.flatMap((id) => byId.get(id) ?? []).filter((run) => matches(run, question));
    return { items, next: null, service };
  };
  const now = answer(known.values());
  if (now.items.length > 0 || waitMs === 0) return now;
  const open = ids.filter((id) => canStillMatch(known.get(id), question));
  const [only] = open;
  if (only === undefined) return now;
  if (open.length === 1) return answer([summaryOf(await objects.allocation(only).wait(states, waitMs))]);
  const filter: RunFilter = { ids: open, states, labels };
  const first = await firstMatch(pools.map((name) => objects.pool(name).wait(filter, waitMs)));
  if (first.length === 0 || pools.length === 1) return answer(first);
  const rest = await askPools(pools, (name) => listIds(objects, name, filter, open));
  return answer([...[...rest.answers.values()].flat(), ...first]);
}

/**
 * The runs with these ids as they are now: from the pools, and from their allocations where a pool lacks one
 * or has it in a state that does not match. A pool may lag; only an allocation says that an id does not
 * exist, and then the whole query is 404 `unknown_run` with all such ids.
 */
async function lookUp(objects: Objects, question: RunQuestion, ids: string[]) {
  const all: RunFilter = { states: [...RUN_STATES], labels: {} };
  const { answers, service } = await askPools(question.pools, (name) => listIds(objects, name, all, ids));
  const known = new Map<string, RunSummary>();
  for (const run of [...answers.values()].flat()) known.set(run.id, run);
  const doubtful = ids.filter((id) => isDoubtful(known.get(id), question));
  const unknown = new Set<string>();
  const expired = new Set<string>();
  await inParallel(doubtful, async (id) => {
    try {
      known.set(id, summaryOf(await objects.allocation(id).read()));
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
  return { known, service };
}

/** Whether only the allocation can tell. An end is final, so a pool that knows of it is as good. */
function isDoubtful(run: RunSummary | undefined, question: RunQuestion): boolean {
  return run === undefined || (!isTerminal(run.state) && !question.states.includes(run.state));
}

async function listIds(
  objects: Objects,
  pool: string,
  filter: RunFilter,
  ids: string[],
): Promise<RunSummary[]> {
  const found: RunSummary[] = [];
  for (let from = 0; from < ids.length; from += IDS_PER_CALL) {
    const some = { ...filter, ids: ids.slice(from, from + IDS_PER_CALL) };
    const { items } = await objects.pool(pool).list(some, { limit: IDS_PER_CALL });
    found.push(...items);
  }
  return found;
}

function matches(run: RunSummary, question: RunQuestion): boolean {
  return question.states.includes(run.state) && fits(run, question);
}

/** Whether what never changes of a run fits: its labels and its pool. */
function fits(run: RunSummary, { labels, pools, onlyThesePools }: RunQuestion): boolean {
  if (onlyThesePools && !pools.includes(run.pool)) return false;
  return Object.entries(labels).every(([name, value]) => run.labels[name] === value);
}

/** Whether waiting can help. A path is pending, running, end, or pending, end (`api.md`, States). */
function canStillMatch(run: RunSummary | undefined, question: RunQuestion): boolean {
  if (run === undefined || isTerminal(run.state) || !fits(run, question)) return false;
  return question.states.some((state) => state === "running" || isTerminal(state));
}

/**
 * The first answer that has something in it; nothing if none of them has; their error if all of them failed.
 */
async function firstMatch(waits: Promise<RunSummary[]>[]): Promise<RunSummary[]> {
  let timedOut = waits.length === 0;
  const matching = waits.map(async (wait) => {
    const runs = await wait;
    if (runs.length > 0) return runs;
    timedOut = true;
    throw new Error("nothing matched in time");
  });
  try {
    return await Promise.any(matching);
  } catch (error) {
    if (timedOut) return [];
    throw asDroverError(error instanceof AggregateError ? error.errors[0] : error);
  }
}

function unknownRuns(ids: string[]): DroverError {
  const [first] = ids;
  const text =
    ids.length === 1
      ? `there is no run "${first}"; \`drover ps\` lists the runs there are`
      : `there are no runs with ${ids.length} of these ids, such as "${first}"; \`runs\` names them`;
  return new DroverError("unknown_run", text, { extra: { runs: ids } });
}

/** The command that stands for a run: its own, or that of its leader, or of its first main task. */
function argvOf(spec: RunStatus["spec"]): unknown[] {
  const { argv, tasks = [] } = spec as RunSpecInput; // what was stored is what the schema has let through
  const shown = tasks.find(({ leader }) => leader) ?? tasks.find(({ lifecycle }) => !lifecycle?.hook);
  return argv ?? shown?.argv ?? [];
}

/** A run as lists show it, from the run as its allocation shows it. */
function summaryOf(status: RunStatus): RunSummary {
  const { id, state, version, pool, labels, exitCode, submittedAt, startedAt, finishedAt, spec } = status;
  const argv = argvOf(spec);
  return {
    id,
    state,
    version,
    pool,
    labels,
    priority: Number(spec.priority),
    command: argv.join(" ").slice(0, COMMAND_CHARS),
    exitCode,
    worker: status.placements.at(-1)?.worker ?? null,
    submittedAt,
    startedAt,
    finishedAt,
  };
}
