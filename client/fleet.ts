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
    /** Creates the pool, or changes it into this. */
    async put(name: string, config: PoolConfig, options: CallOptions = {}): Promise<PoolView> {
      return await ask(target, "putPool", { path: { name }, body: config }, options);
    },

    /**
     * Deletes it if it is empty; with `drain`, as soon as it is. With `force` its runs and machines are ended
     * at once, and `leftBehind` names the machines that may be left at the provider.
     */
    async delete(
      name: string,
      { drain = false, force = false, ...options }: CallOptions & { drain?: boolean; force?: boolean } = {},
    ): Promise<PoolDeletion> {
      const on = (flag: boolean) => (flag ? ("1" as const) : undefined);
      const query = { drain: on(drain), force: on(force) };
      return await ask(target, "deletePool", { path: { name }, query }, options);
    },

    /** What has changed after that number, at first all that lives; with `waitMs` held while nothing has. */
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

    /** The runs that wait for a place, in the order in which they get one, a page at a time. */
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

/** The routes of workers. What they post says what shall be, so that repeating it does no harm. */
export function workersOf(target: Target) {
  const tend = (how: "holdWorker" | "drainWorker" | "resumeWorker", id: string, options: CallOptions) =>
    ask(target, how, { path: { id } }, { ...options, repeatable: true });
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

    /** Gives it no new runs, and keeps it: neither idle time nor a time-out ends it. */
    async hold(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      return await tend("holdWorker", id, options);
    },

    /** Lets its runs end and gives it no others; then it goes. */
    async drain(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      return await tend("drainWorker", id, options);
    },

    /** Ends a hold, or a drain that has not come to its end. */
    async resume(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      return await tend("resumeWorker", id, options);
    },

    /** Destroys it now, runs or not; with `force` no listing is waited for: `leftBehind` in the answer. */
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

/** Self-hosted machines. */
export function enrollmentsOf(target: Target) {
  return {
    /** A code with which one machine can join. The same `key` finds the same code again. */
    async create(
      request: EnrollmentRequest = {},
      options: CallOptions & { key?: string } = {},
    ): Promise<Enrollment> {
      return await ask(target, "createEnrollment", { body: request }, options);
    },
  };
}
