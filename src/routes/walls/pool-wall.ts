// Which calls to a pool remain for a caller, and what do their answers show (access.md#walls)?
import type { AuditFilter, Past, PoolApi, RunFilter } from "../../objects/rpc.ts";
import type { PoolChange, PoolEventList } from "../../schema/pool/changes.ts";
import type { HistoryItem, PoolHistory } from "../../schema/pool/history.ts";
import type { ListedWorker, PoolView, WorkerSummary } from "../../schema/pool.ts";
import { projectOfRun } from "../../shared/access/project.ts";
import { grants } from "../../shared/access/scopes.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Caller } from "../access/caller.ts";
import { isOfProject, maySeeRun, mayUsePool, unknownPool, unknownRun } from "./run-limits.ts";
import type { Standing } from "./standing.ts";

/**
 * A pool as it exists for a caller: unknown if it is beyond the limits or does not serve the caller's
 * project, else with the visible runs only. Of a pool that serves several projects, a caller sees the part of
 * its own project, and changes nothing (projects.md#pools).
 */
export function walledPool(
  api: PoolApi,
  caller: Caller,
  name: string,
  standing: (pool: string) => Promise<Standing>,
): PoolApi {
  const { project, limits, scopes } = caller;
  const { labels } = limits;
  /** What the pool is for the caller. Throws `unknown_pool` if it does not exist for the caller. */
  const seen = async () => {
    const found = mayUsePool(limits, name) ? await standing(name) : "none";
    if (found === "none") throw unknownPool(name);
    return found;
  };
  /** The same for what no limit to labels confines. */
  const whole = async () => {
    if (labels !== undefined) throw unknownPool(name);
    return seen();
  };
  const filtered = <Filter extends RunFilter>(filter: Filter): Filter => {
    const own = labels === undefined ? filter : within(filter, labels);
    return project === null ? own : { ...own, project };
  };
  /** Entries outlive their pool, too: whatever the pool is for the project, it has that project's entries. */
  const auditFilter = (filter: AuditFilter): AuditFilter => {
    if (labels !== undefined || !mayUsePool(limits, name)) throw unknownPool(name);
    return project === null ? filter : { ...filter, projects: [project] };
  };
  return {
    view: async () => viewFor(project, await whole(), await api.view()),
    queue: async (page) => {
      await whole();
      return api.queue(project === null ? page : { ...page, project });
    },
    events: async (after, waitMs) => {
      const seesWorkers = grants(scopes, "pools:read") && labels === undefined;
      return eventsOf({ api, caller, seesWorkers, seen }, after, waitMs);
    },
    past: async (kind, request) => {
      const standing = await whole();
      return pastFor(project, standing, kind, await api.past(kind, request));
    },
    metrics: async () => {
      const isOwn = (await whole()) === "own";
      const samples = await api.metrics();
      return isOwn ? samples : samples.filter((sample) => sample.labels.project === project);
    },
    // A run outlives its pool, and the pool's service of its project.
    forget: async (ref, by) => {
      if (!mayUsePool(limits, name)) throw unknownPool(name);
      if (!isOfProject(caller, ref.run)) throw unknownRun(ref.run);
      return api.forget(ref, by);
    },
    invite: async (request) => {
      refuseShared(name, await whole());
      return api.invite(request);
    },
    list: async (filter, page) => {
      await seen();
      return api.list(filtered(filter), page);
    },
    wait: async (question, ...rest) => {
      await seen();
      // A wait for all of no runs is over at once.
      if (question.all && labels !== undefined && contradicts(question, labels))
        return { items: [], open: 0, missed: false };
      return api.wait(filtered(question), ...rest);
    },
    workers: async (states) => {
      await whole();
      return (await api.workers(states)).flatMap((worker) => workerFor(project, worker) ?? []);
    },
    ownerOf: async (worker) => {
      await whole();
      return api.ownerOf(worker);
    },
    audit: async (filter, page) => api.audit(auditFilter(filter), page),
    auditAfter: async (filter, ...rest) => api.auditAfter(auditFilter(filter), ...rest),
  };
}

/** Throws `beyond_limits` for a pool that serves several projects, which only its operator changes. */
export function refuseShared(pool: string, standing: Standing): void {
  if (standing === "own") return;
  const text =
    `the pool "${pool}" serves several projects, so only a caller without a project may do this: ` +
    "use the break-glass secret";
  throw new DroverError("beyond_limits", text);
}

/**
 * A machine of a pool as a project sees it, with the project's own runs only. Undefined: it is another one's.
 * That holds for a pool of the project alone, too, which may have served others before
 * (projects.md#machines).
 */
export function workerFor<Worker extends WorkerSummary | ListedWorker>(
  project: string | null,
  worker: Worker,
): Worker | undefined {
  if (project === null) return worker;
  if (worker.project !== null && worker.project !== project) return undefined;
  const isOwn = (run: string) => projectOfRun(run) === project;
  const runs = worker.runs.filter(isOwn);
  const kept = worker.kept?.filter(({ run }) => isOwn(run)) ?? [];
  const shown: Worker = { ...worker, runs, kept };
  // An empty list would say that somebody else's run is kept.
  if (kept.length === 0) delete shown.kept;
  // What is used of a shared machine would say what the runs of others have reserved.
  if (worker.project !== project || runs.length < worker.runs.length) delete shown.used;
  if (!("lastRun" in worker) || worker.lastRun === null) return shown;
  return isOwn(worker.lastRun.run) ? shown : { ...shown, lastRun: null };
}

/** What happened in a pool as a project sees it: to its own runs, and to machines that are no other one's. */
function historyFor(project: string, history: PoolHistory): PoolHistory {
  const isShown = (item: HistoryItem) =>
    item.project === project || (item.project === null && item.run === null);
  return { ...history, items: history.items.filter(isShown) };
}

/** Each kind of a pool's past as a project sees it, in a pool of this standing. */
const PAST_FOR: {
  [Kind in keyof Past]: (project: string, standing: Standing, past: Past[Kind]) => Past[Kind];
} = {
  history: (project, _standing, history) => historyFor(project, history),
  samples: (_project, standing, { items, next }) => ({
    items: items.map(({ perHour, unpriced, ...sample }) =>
      standing === "own" ? { ...sample, perHour, unpriced } : sample,
    ),
    next,
  }),
  tallies: (_project, standing, { items, next }) => ({
    items: items.map(({ spent, ...tally }) => (standing === "own" ? { ...tally, spent } : tally)),
    next,
  }),
  gone: (project, _standing, { items, next }) => ({
    items: items.filter((worker) => worker.project === null || worker.project === project),
    next,
  }),
};

/** The past of a pool as a project sees it. What machines of a shared pool cost only its operator sees. */
function pastFor<Kind extends keyof Past>(
  project: string | null,
  standing: Standing,
  kind: Kind,
  past: Past[Kind],
): Past[Kind] {
  return project === null ? past : PAST_FOR[kind](project, standing, past);
}

/** A pool as a project sees it: without what only the operator of a shared pool needs. */
function viewFor(project: string | null, standing: Standing, view: PoolView): PoolView {
  if (project === null || standing === "own") return view;
  const { spend: _spend, strangers: _strangers, projects: uses, ...shown } = view;
  const { projects: quotas, ...config } = view.config;
  const own = { ...config, ...ofProject(quotas, project) };
  return { ...shown, ...ofProject(uses, project), config: own };
}

/** The part of a project of what is stored by project. */
function ofProject<Part>(
  all: Record<string, Part> | undefined,
  project: string,
): { projects?: Record<string, Part> } {
  const own = all?.[project];
  return own === undefined ? {} : { projects: { [project]: own } };
}

/**
 * Narrows a filter to the runs that a token may see. A run has one value of a label, so a filter that asks
 * for another value selects nothing.
 */
function within<Filter extends RunFilter>(filter: Filter, labels: Record<string, string>): Filter {
  const states = contradicts(filter, labels) ? [] : filter.states;
  return { ...filter, states, labels: { ...filter.labels, ...labels } };
}

/** Whether a filter asks for another value of a forced label. */
function contradicts(filter: RunFilter, labels: Record<string, string>): boolean {
  return Object.entries(labels).some(([name, value]) => (filter.labels[name] ?? value) !== value);
}

/**
 * Those changes of a pool that a caller may see. The wait goes on while only hidden rows change, so that the
 * time of an answer says nothing about them. What the pool is for the caller is asked in each round.
 */
async function eventsOf(
  { api, caller, seesWorkers, seen }: Reading,
  after: number | null,
  waitMs: number,
): Promise<PoolEventList> {
  const endsAt = performance.now() + waitMs;
  const shown = ({ number, run, worker }: PoolChange): PoolChange[] => {
    if (run !== undefined) return maySeeRun(caller, run) ? [{ number, run }] : [];
    const found = worker && seesWorkers ? workerFor(caller.project, worker) : undefined;
    return found === undefined ? [] : [{ number, worker: found }];
  };
  let from = after;
  for (;;) {
    const leftMs = Math.max(0, Math.ceil(endsAt - performance.now()));
    await seen();
    const { items, next } = await api.events(from, leftMs);
    const found = items.flatMap(shown);
    if (found.length > 0 || leftMs === 0) return { items: found, next };
    from = next;
  }
}

/** Who reads the changes of which pool. `seen` throws if the pool does not exist for the caller. */
interface Reading {
  api: PoolApi;
  caller: Caller;
  seesWorkers: boolean;
  seen: () => Promise<unknown>;
}
