// How are a caller's project and limits enforced for every call to an object, whichever route makes the call
// (access.md#walls)?
import type { AuditFilter, CloudWorkerApi, Objects, RegistryApi } from "../../objects/rpc.ts";
import type { WorkerStatus } from "../../schema/pool.ts";
import { projectOfRun } from "../../shared/access/project.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Caller } from "../access/caller.ts";
import { guarded } from "./guarded.ts";
import { walledJob } from "./job-wall.ts";
import { refuseShared, walledPool } from "./pool-wall.ts";
import { beyond, idsOf, limitsRuns, mayUsePool, unknownPool } from "./run-limits.ts";
import { walledRun } from "./run-wall.ts";
import type { Standing } from "./standing.ts";

/** Tells what a pool is for the caller's project. */
type StandingOf = (pool: string) => Promise<Standing>;

/**
 * The objects as they exist for a caller (access.md#walls). Every call first awaits `confirm`, which throws
 * if the caller's token is no longer valid. Therefore long waits and open streams end, too, once the token is
 * no longer valid.
 */
export function walledObjects(
  objects: Objects,
  caller: Caller,
  standing: StandingOf,
  confirm: () => Promise<void>,
): Objects {
  return {
    allocation: (run) => guarded(walledRun(objects, caller, idsOf(caller, [run])[0] ?? run), confirm),
    worker: (id) => guarded(walledWorker(objects, caller, standing, id), confirm),
    pool: (name) => guarded(walledPool(objects.pool(name), caller, name, standing), confirm),
    registry: () => guarded(walledRegistry(objects.registry(), caller), confirm),
    // The registry tells the ids of a project's own webhooks only, and nobody guesses the others.
    webhook: (id) => guarded(objects.webhook(id), confirm),
    job: (name) => guarded(walledJob(objects.job(name), caller, name), confirm),
    logs: () => guarded(objects.logs(), confirm),
    snapshots: () => guarded(objects.snapshots(), confirm),
    nodeArchive: (file) => objects.nodeArchive(file),
  };
}

/** The runs that the status of a worker names. */
function runsOf({ runs, lastRun, orders, stale }: WorkerStatus): string[] {
  const others = [...orders, ...stale, ...(lastRun === null ? [] : [lastRun])];
  return [...runs, ...others.map(({ run }) => run)];
}

/** Whether the status of a worker names runs of another project. */
function hasOthers(worker: WorkerStatus, project: string | null): boolean {
  return project !== null && runsOf(worker).some((run) => projectOfRun(run) !== project);
}

/** The calls that only show a worker. */
const READS: readonly PropertyKey[] = ["read", "why", "console"];

/**
 * A worker as it exists for a caller: unknown if its pool is. In a pool that serves several projects, a
 * caller changes no machine, and sees those of its own project and those that nobody has used
 * (projects.md#pools).
 */
function walledWorker(objects: Objects, caller: Caller, standing: StandingOf, id: string): CloudWorkerApi {
  const { project, limits } = caller;
  const api = objects.worker(id);
  if (project === null && !limitsRuns(limits)) return api;
  const unknown = new DroverError("unknown_worker", `there is no worker "${id}"`);
  /** The worker, if the caller may make this call. */
  const checked = async (method: PropertyKey): Promise<WorkerStatus> => {
    const worker = await objects.worker(id).read();
    const { pool } = worker;
    const found = mayUsePool(limits, pool) ? await standing(pool) : "none";
    if (found === "none" || hasOthers(worker, project)) throw unknown;
    // A console may have the words of a project that has left the pool.
    if (found === "own" && method !== "console") return worker;
    const owner = await objects.pool(pool).ownerOf(id);
    const isUnused = owner === null && runsOf(worker).length === 0;
    if (owner !== project && !isUnused) throw unknown;
    if (!READS.includes(method)) refuseShared(pool, found);
    return worker;
  };
  return new Proxy(api, {
    get(target, method) {
      const call: unknown = Reflect.get(target, method);
      if (typeof call !== "function") return call;
      return async (...args: unknown[]) => {
        const worker = await checked(method);
        // What was judged is what is shown.
        return method === "read" ? worker : Reflect.apply(call, target, args);
      };
    },
  });
}

/**
 * The audit log of the registry as it exists for a caller: the entries of the caller's project. With a limit
 * to pools, those about these pools; with a limit to labels there is no entry at all.
 */
function walledAudit(
  api: RegistryApi,
  { project, limits: { pools, labels } }: Caller,
): Pick<RegistryApi, "audit" | "auditAfter"> {
  const own = labels === undefined ? pools : [];
  const within = (filter: AuditFilter): AuditFilter => ({
    ...filter,
    ...(project === null ? {} : { projects: [project] }),
    ...(own === undefined ? {} : { pools: own.filter((pool) => filter.pools?.includes(pool) !== false) }),
  });
  return {
    audit: (filter, page) => api.audit(within(filter), page),
    auditAfter: (filter, ...rest) => api.auditAfter(within(filter), ...rest),
  };
}

/** The error for a token that does not exist, or does not exist for this caller. */
function unknownToken(id: string): DroverError {
  return new DroverError("unknown_token", `there is no token "${id}"; \`drover tokens list\` shows all`);
}

/**
 * The registry as it exists for a caller: it shows only entries of the caller's, and changes only pools that
 * are within the limits. Calls about what a project owns name the project, so they need no wall here.
 */
function walledRegistry(api: RegistryApi, caller: Caller): RegistryApi {
  const { pools } = caller.limits;
  const audit = walledAudit(api, caller);
  const token = async (id: string) => {
    const found = await api.token(id);
    if (caller.project === null || found.project === caller.project) return found;
    throw unknownToken(id);
  };
  return new Proxy(api, {
    get(target, method) {
      if (method === "audit" || method === "auditAfter") return audit[method];
      if (method === "token") return token;
      if (method === "rotateToken" || method === "revokeToken")
        return async (...args: [id: string, ...unknown[]]) => {
          await token(args[0]);
          return Reflect.apply(Reflect.get(target, method), target, args);
        };
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
