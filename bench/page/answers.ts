// What does the generated world answer to the routes that the page asks?
import type {
  ListedWorker,
  PoolView,
  QueuedRun,
  RunStatus,
  RunSummary,
  WorkerStatus,
} from "../../src/generated/api.ts";
import recorded from "../../src/routes/openapi/example-answers.json" with { type: "json" };
import { hasFailed, isTerminal } from "../../src/shared/run-state.ts";
import { POOL, type World } from "./world.ts";

/** One question of the page: the names in the path, and the query. */
export interface Question {
  names: readonly string[];
  query: URLSearchParams;
}

type Answer = (world: World, question: Question) => unknown;

const SERVICE = [{ pool: POOL, initialized: true, healthy: true }];
const DEFAULT_LIMIT = 100;

const examples: Record<string, { type: string; value: unknown } | undefined> = recorded;
/** A recorded answer, as the beginning of one. Its type is that of the route, whose test has recorded it. */
const exampleOf = <T>(key: string): T => examples[key]?.value as T;

const ANSWERS: Record<string, Answer> = {
  listRuns: (world, { query }) => {
    const { items, next } = pageOf(newestFirst(world, query), query);
    return { items, next, service: SERVICE };
  },
  getRun: (world, { names: [id = ""] }) => {
    const run = world.runs.get(id);
    return run && statusOf(run);
  },
  listWorkers: ({ workers }, { query }) => {
    const states = query.getAll("state");
    const listed = [...workers.values()].filter(({ state }) => states.length === 0 || states.includes(state));
    const { items, next } = pageOf(listed, query);
    const more: Pick<ListedWorker, "idleSince" | "lastRun"> = { idleSince: null, lastRun: null };
    return { items: items.map((worker) => ({ ...worker, ...more })), next, service: SERVICE };
  },
  getWorker: ({ workers }, { names: [id = ""] }) => {
    const { project: _, ...worker } = workers.get(id) ?? { project: null };
    return "id" in worker && { ...exampleOf<WorkerStatus>("getWorker/one"), ...worker };
  },
  listPools: (world) => ({ items: [poolOf(world)], next: null, service: SERVICE }),
  getPool: (world, { names: [name] }) => (name === POOL ? poolOf(world) : undefined),
  listQueue: (world, { query }) => {
    const { items, next } = pageOf(newestFirst(world, new URLSearchParams("state=pending")), query);
    const { reason, next: step } = exampleOf<{ items: QueuedRun[] }>("listQueue/lab").items[0] ?? {};
    const queued = items.map(({ id, project, priority, command, submittedAt }, index) => ({
      ...{ id, position: index + 1, project, priority, command, submittedAt, reason, next: step },
      ageMs: Date.now() - Date.parse(submittedAt),
    }));
    return { items: queued, next, queued: countsOf(world).pending };
  },
};

/**
 * The answer of a route; undefined: there is no such thing. A route that the world knows nothing of answers
 * as its recorded example.
 */
export function answerOf(operationId: string, world: World, question: Question): unknown {
  const answer = ANSWERS[operationId];
  if (answer !== undefined) return answer(world, question) || undefined;
  const isAnswer = ([key, value]: [string, (typeof examples)[string]]) =>
    key.startsWith(`${operationId}/`) && value?.type === "application/json";
  return Object.entries(examples).find(isAnswer)?.[1]?.value;
}

function* newestFirst({ runs }: World, query: URLSearchParams): Generator<RunSummary> {
  const states = query.getAll("state");
  const labels = query.getAll("label");
  const search = query.get("search") ?? "";
  for (const run of [...runs.values()].reverse()) {
    const words = isTerminal(run.state) ? [run.state, "done"] : [run.state];
    const fits =
      (states.length === 0 || words.some((word) => states.includes(word))) &&
      labels.every((label) => Object.entries(run.labels).some((pair) => pair.join(":") === label)) &&
      (!query.has("failed") || hasFailed(run)) &&
      `${run.id} ${run.command}`.includes(search);
    if (fits) yield run;
  }
}

/** A page of a list. Its cursor is the id of the last item: what is new moves nobody. */
function pageOf<T extends { id: string }>(
  list: Iterable<T>,
  query: URLSearchParams,
): { items: T[]; next: string | null } {
  const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
  const cursor = query.get("cursor");
  const items: T[] = [];
  let isReached = cursor === null;
  for (const item of list) {
    if (items.length === limit) return { items, next: items.at(-1)?.id ?? null };
    if (isReached) items.push(item);
    else isReached = item.id === cursor;
  }
  return { items, next: null };
}

function countsOf({ runs }: World): { pending: number; running: number } {
  const counts = { pending: 0, running: 0 };
  for (const { state } of runs.values()) if (state === "pending" || state === "running") counts[state] += 1;
  return counts;
}

function poolOf(world: World): PoolView {
  const runs = countsOf(world);
  const workers: PoolView["workers"] = {};
  for (const { state } of world.workers.values()) workers[state] = (workers[state] ?? 0) + 1;
  const perHour = [...world.workers.values()].reduce((sum, { price }) => sum + (price ?? 0), 0);
  return {
    ...exampleOf<PoolView>("getPool/one"),
    name: POOL,
    queue: { depth: runs.pending, oldestAgeMs: 60_000 },
    ...{ runs, workers, spend: { perHour, unpriced: 0, worstPerHour: perHour } },
  };
}

function statusOf(run: RunSummary): RunStatus {
  const example = exampleOf<RunStatus>("getRun/running");
  const { id, state, exitCode, startedAt, finishedAt, version, labels, submittedAt } = run;
  const isPending = state === "pending";
  const log = (stream: string) => (isPending ? null : `/v1/runs/${id}/logs/main/${stream}`);
  const shown = { id, state, exitCode, startedAt, finishedAt, version, labels, submittedAt };
  return {
    ...example,
    ...shown,
    ...{ pool: POOL, allocStatus: state, stdoutRef: log("stdout"), stderrRef: log("stderr") },
    ...(isPending ? { placedAt: null, placements: [], tasks: [] } : { placedAt: startedAt }),
    // The world has runs in three states, and each has these fields.
  } as RunStatus;
}
