// The client's calls about pools, workers and enrollments.
import type { CallOptions, Target } from "./transport/http.ts";
import { ask } from "./transport/operations.ts";
import type {
  Enrollment,
  EnrollmentRequest,
  PoolConfig,
  PoolDeletion,
  PoolEventList,
  PoolList,
  PoolView,
  Queue,
  Why,
  WorkerList,
  WorkerState,
  WorkerStatus,
} from "./types.ts";

/** The routes of pools (api.md#pools). Each call rejects with `ApiError` or `UnreachableError`. */
export function poolsOf(target: Target) {
  return {
    /** Creates the pool, or replaces its configuration. */
    async put(name: string, config: PoolConfig, options: CallOptions = {}): Promise<PoolView> {
      return await ask(target, "putPool", { path: { name }, body: config }, options);
    },

    /**
     * Deletes the pool if it is empty; with `drain`, as soon as it is empty. With `force`, ends its runs and
     * machines at once, and `leftBehind` names the machines that may be left at the provider.
     */
    async delete(
      name: string,
      { drain = false, force = false, ...options }: CallOptions & { drain?: boolean; force?: boolean } = {},
    ): Promise<PoolDeletion> {
      const on = (flag: boolean) => (flag ? ("1" as const) : undefined);
      const query = { drain: on(drain), force: on(force) };
      return await ask(target, "deletePool", { path: { name }, query }, options);
    },

    /** The changes after number `after`; by default, everything live. With `waitMs`, waits for a change. */
    async events(
      name: string,
      { after, ...options }: CallOptions & { after?: number } = {},
    ): Promise<PoolEventList> {
      const query = { pool: name, after: after?.toString() };
      return await ask(target, "listPoolEvents", { query }, options);
    },

    async get(name: string, options: CallOptions = {}): Promise<PoolView> {
      return await ask(target, "getPool", { path: { name } }, options);
    },

    /** The runs that wait for a place, in queue order, one page. */
    async queue(
      name: string,
      { limit, cursor, ...options }: CallOptions & { limit?: number; cursor?: string | undefined } = {},
    ): Promise<Queue> {
      return await ask(target, "listQueue", { path: { name }, query: { limit, cursor } }, options);
    },

    async list(options: CallOptions = {}): Promise<PoolList> {
      return await ask(target, "listPools", {}, options);
    },
  };
}

/** The routes of workers. Each POST sets a state, so repeating it is harmless. */
export function workersOf(target: Target) {
  const setBehavior = (
    how: "holdWorker" | "drainWorker" | "resumeWorker",
    id: string,
    options: CallOptions,
  ) => ask(target, how, { path: { id } }, { ...options, repeatable: true });
  return {
    async list(
      filter: { pool?: string; states?: readonly WorkerState[] } = {},
      options: CallOptions = {},
    ): Promise<WorkerList> {
      const query = { pool: filter.pool, state: filter.states };
      return await ask(target, "listWorkers", { query }, options);
    },

    async get(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      return await ask(target, "getWorker", { path: { id } }, options);
    },

    async why(id: string, options: CallOptions = {}): Promise<Why> {
      return await ask(target, "explainWorker", { path: { id } }, options);
    },

    /** Keeps the worker, but gives it no new runs: neither idle time nor a timeout ends it. */
    async hold(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      return await setBehavior("holdWorker", id, options);
    },

    /** Gives the worker no new runs, lets its runs end, then ends it. */
    async drain(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      return await setBehavior("drainWorker", id, options);
    },

    /** Undoes a hold, or a drain that is not finished. */
    async resume(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      return await setBehavior("resumeWorker", id, options);
    },

    /**
     * Destroys the worker's machine now, whatever runs on it. With `force`, without waiting for the
     * provider's confirmation: `leftBehind` then names the machine.
     */
    async kill(
      id: string,
      options: CallOptions & { reason?: string; force?: boolean } = {},
    ): Promise<WorkerStatus> {
      const { reason, force, ...rest } = options;
      return await ask(
        target,
        "killWorker",
        { path: { id }, body: { reason, force } },
        { ...rest, repeatable: true },
      );
    },
  };
}

/** Enrolling self-hosted machines. */
export function enrollmentsOf(target: Target) {
  return {
    /** Makes a code with which one machine can join. The same `key` finds the same code again. */
    async create(
      request: EnrollmentRequest = {},
      options: CallOptions & { key?: string } = {},
    ): Promise<Enrollment> {
      return await ask(target, "createEnrollment", { body: request }, options);
    },
  };
}
