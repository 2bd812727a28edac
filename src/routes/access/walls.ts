// How are a token's limits enforced for every call to an object, whichever route makes the call
// (access.md#walls)?
import type {
  AllocationApi,
  AuditFilter,
  CloudWorkerApi,
  Objects,
  PoolApi,
  RegistryApi,
  RequestAnswer,
  RunFilter,
} from "../../objects/rpc.ts";
import type { PoolEventList } from "../../schema/pool/changes.ts";
import type { RunStatus } from "../../schema/run/run.ts";
import { grants } from "../../shared/access/scopes.ts";
import { DroverError } from "../../shared/errors.ts";
import { hasCode } from "../http/problem.ts";
import type { Caller } from "./caller.ts";
import { guarded } from "./guarded.ts";
import { refuseHidden, withHiddenValues } from "./hidden-values.ts";
import {
  beyond,
  limitsRuns,
  maySeeRun,
  mayUsePool,
  refuseSecrets,
  unknownPool,
  unknownRun,
  withinLimits,
} from "./run-limits.ts";

/**
 * The objects as they exist for a caller (access.md#walls). Every call first awaits `confirm`, which throws
 * if the caller's token is no longer valid. Therefore long waits and open streams end, too, once the token is
 * no longer valid.
 */
export function walledObjects(objects: Objects, caller: Caller, confirm: () => Promise<void>): Objects {
  return {
    allocation: (run) => guarded(walledRun(objects, caller, run), confirm),
    worker: (id) => guarded(walledWorker(objects, caller, id), confirm),
    pool: (name) => guarded(walledPool(objects.pool(name), caller, name), confirm),
    registry: () => guarded(walledRegistry(objects.registry(), caller), confirm),
    // No token with limits has the scope of webhooks (access.md#limits).
    webhook: (id) => guarded(objects.webhook(id), confirm),
    logs: () => guarded(objects.logs(), confirm),
    snapshots: () => guarded(objects.snapshots(), confirm),
  };
}

/**
 * A run as it exists for a caller. A run beyond the limits is unknown, and values that the caller may not
 * read are hidden.
 */
function walledRun(objects: Objects, caller: Caller, run: string): AllocationApi {
  const { limits, scopes } = caller;
  const api = () => objects.allocation(run);
  const shown = (status: RunStatus) => (grants(scopes, "runs:env") ? status : withHiddenValues(status));
  const shownAnswer = ({ status, replayed }: RequestAnswer) => ({ status: shown(status), replayed });
  let visible: Promise<void> | undefined;
  /** Throws if the limits hide the run. Asks the run for its pool and labels at most once. */
  const known = () => {
    visible ??= limitsRuns(limits) ? refuseUnseen(objects, run, limits) : Promise.resolve();
    return visible;
  };
  // `run_exists` lists fields that differ, which reveals values. `expired_run` reveals that the run existed.
  const isHidden = (error: unknown) =>
    (hasCode(error, "run_exists") && (limitsRuns(limits) || !grants(scopes, "runs:env"))) ||
    (hasCode(error, "expired_run") && limitsRuns(limits));
  const seen = async <Answer>(call: (run: AllocationApi) => Promise<Answer>): Promise<Answer> => {
    await known();
    return call(api());
  };
  return {
    async submit({ spec, ...rest }) {
      refuseSecrets(spec, caller);
      const request = { ...rest, spec: withinLimits(spec, limits) };
      const { created, status } = await api()
        .submit(request)
        .catch((error: unknown) => {
          throw isHidden(error) ? idTaken(run) : error;
        });
      if (!created && !maySeeRun(limits, status)) throw idTaken(run);
      return { created, status: shown(status) };
    },
    read: () => seen(async (one) => shown(await one.read())),
    wait: (...args) => seen(async (one) => shown(await one.wait(...args))),
    summary: (...args) => seen((one) => one.summary(...args)),
    abort: (...args) => seen(async (one) => shown(await one.abort(...args))),
    restart: (...args) => seen(async (one) => shownAnswer(await one.restart(...args))),
    signal: (...args) => seen(async (one) => shownAnswer(await one.signal(...args))),
    update: ({ spec, ...request }) =>
      seen(async (one) => {
        refuseHidden(spec, "/spec");
        refuseSecrets(spec, caller, "/spec");
        return shown(await one.update({ ...request, spec: withinLimits(spec, limits, "/spec") }));
      }),
    events: (...args) => seen((one) => one.events(...args)),
    why: () => seen((one) => one.why()),
    stats: (...args) => seen((one) => one.stats(...args)),
    log: (...args) => seen((one) => one.log(...args)),
    storeLog: (...args) => seen((one) => one.storeLog(...args)),
  };
}

/** The error for an id that is or was in use. It reveals nothing about the run. */
function idTaken(run: string): DroverError {
  return new DroverError("run_exists", `the id "${run}" is taken by another submission; choose another one`);
}

/** Throws `unknown_run` for a run that is beyond the limits, and for one that was deleted. */
async function refuseUnseen(objects: Objects, run: string, limits: Caller["limits"]): Promise<void> {
  try {
    if (maySeeRun(limits, await objects.allocation(run).summary())) return;
  } catch (error) {
    // The pool and labels of a deleted run are no longer known, so the limits hide the run.
    if (!hasCode(error, "expired_run")) throw error;
  }
  throw unknownRun(run);
}

/** A worker as it exists for a caller: unknown if its pool is beyond the limits. */
function walledWorker(objects: Objects, { limits }: Caller, id: string): CloudWorkerApi {
  const api = objects.worker(id);
  if (!limitsRuns(limits)) return api;
  return guarded(api, async () => {
    const { pool } = await objects.worker(id).read();
    if (mayUsePool(limits, pool)) return;
    throw new DroverError("unknown_worker", `there is no worker "${id}"`);
  });
}

/** The calls to a pool that remain for a caller whose token is limited to labels. */
const CALLS_BY_LABEL: readonly PropertyKey[] = ["list", "wait", "events", "forget"];

/** A pool as it exists for a caller: unknown if it is beyond the limits, else with the visible runs only. */
function walledPool(api: PoolApi, { limits, scopes }: Caller, name: string): PoolApi {
  if (!mayUsePool(limits, name)) {
    return guarded(api, async () => {
      throw unknownPool(name);
    });
  }
  const { labels } = limits;
  const seesWorkers = grants(scopes, "pools:read");
  if (labels === undefined && seesWorkers) return api;
  return new Proxy(api, {
    get(target, method) {
      if (method === "events")
        return (after: number | null, waitMs: number) =>
          eventsOf(api, { limits, seesWorkers }, after, waitMs);
      if (labels === undefined) return Reflect.get(target, method);
      if (method === "list") return (...[filter, page]: ListArgs) => api.list(within(filter, labels), page);
      if (method === "wait") return (...args: WaitArgs) => waitWithin(api, labels, args);
      if (CALLS_BY_LABEL.includes(method)) return Reflect.get(target, method);
      return async () => {
        throw unknownPool(name);
      };
    },
  });
}

type ListArgs = Parameters<PoolApi["list"]>;
type WaitArgs = Parameters<PoolApi["wait"]>;

/**
 * Waits for the runs that exist for a token. A filter that contradicts the token's labels selects no run. A
 * wait for all of them is over at once, since there are none.
 */
async function waitWithin(
  api: PoolApi,
  labels: Record<string, string>,
  [question, ...rest]: WaitArgs,
): ReturnType<PoolApi["wait"]> {
  if (question.all && contradicts(question, labels)) return { items: [], open: 0, missed: false };
  return api.wait({ ...question, ...within(question, labels) }, ...rest);
}

/**
 * Narrows a filter to the runs that a token may see. A run has one value of a label, so a filter that asks
 * for another value selects nothing.
 */
function within(filter: RunFilter, labels: Record<string, string>): RunFilter {
  const states = contradicts(filter, labels) ? [] : filter.states;
  return { ...filter, states, labels: { ...filter.labels, ...labels } };
}

/** Whether a filter asks for another value of a forced label. */
function contradicts(filter: RunFilter, labels: Record<string, string>): boolean {
  return Object.entries(labels).some(([name, value]) => (filter.labels[name] ?? value) !== value);
}

/**
 * Those changes of a pool that a token may see. The wait goes on while only hidden rows change, so that the
 * time of an answer says nothing about them.
 */
async function eventsOf(
  api: PoolApi,
  { limits, seesWorkers }: { limits: Caller["limits"]; seesWorkers: boolean },
  after: number | null,
  waitMs: number,
): Promise<PoolEventList> {
  const endsAt = performance.now() + waitMs;
  let from = after;
  for (;;) {
    const leftMs = Math.max(0, Math.ceil(endsAt - performance.now()));
    const { items, next } = await api.events(from, leftMs);
    const shown = items.filter(({ run }) =>
      run === undefined ? seesWorkers && limits.labels === undefined : maySeeRun(limits, run),
    );
    if (shown.length > 0 || leftMs === 0) return { items: shown, next };
    from = next;
  }
}

/**
 * The audit log of the registry as it exists for a caller: what concerns no pool of the caller's, such as an
 * entry about a token, does not exist. With a limit to labels there is no entry at all.
 */
function walledAudit(
  api: RegistryApi,
  { pools, labels }: Caller["limits"],
): Pick<RegistryApi, "audit" | "auditAfter"> {
  const own = labels === undefined ? (pools ?? []) : [];
  const within = (filter: AuditFilter) => ({
    ...filter,
    pools: own.filter((pool) => filter.pools?.includes(pool) !== false),
  });
  return {
    audit: (filter, page) => api.audit(within(filter), page),
    auditAfter: (filter, ...rest) => api.auditAfter(within(filter), ...rest),
  };
}

/** The registry as it exists for a caller: it shows only the caller's pools. */
function walledRegistry(api: RegistryApi, { limits }: Caller): RegistryApi {
  if (!limitsRuns(limits)) return api;
  const { pools } = limits;
  const audit = walledAudit(api, limits);
  return new Proxy(api, {
    get(target, method) {
      if (method === "audit" || method === "auditAfter") return audit[method];
      if (pools === undefined) return Reflect.get(target, method);
      if (method === "putPool")
        return async (...args: Parameters<RegistryApi["putPool"]>) => {
          if (pools.includes(args[0])) return api.putPool(...args);
          throw beyond("/name", `is "${args[0]}", and this token may change only ${pools.join(", ")}`);
        };
      if (method === "removePool")
        return async (...args: Parameters<RegistryApi["removePool"]>) => {
          if (pools.includes(args[0])) return api.removePool(...args);
          throw unknownPool(args[0]);
        };
      return Reflect.get(target, method);
    },
  });
}
