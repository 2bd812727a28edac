import type { Enrollment, EnrollmentRequestInput } from "../src/schema/enrollment.ts";
import type {
  PoolConfigInput,
  PoolList,
  PoolView,
  WorkerList,
  WorkerState,
  WorkerStatus,
} from "../src/schema/pool.ts";
import type { Why } from "../src/schema/run.ts";
import { type CallOptions, callValue, type Target } from "./http.ts";

const reading = { method: "GET", repeatable: true } as const;

/**
 * The routes of pools (`api.md`, Pools and workers). Each call rejects with `ApiError` or `UnreachableError`.
 */
export function poolsOf(target: Target) {
  const path = (name: string) => `/v1/pools/${encodeURIComponent(name)}`;
  return {
    /** Creates the pool, or changes it into this. */
    async put(name: string, config: PoolConfigInput, options: CallOptions = {}): Promise<PoolView> {
      return await callValue(target, {
        ...options,
        method: "PUT",
        path: path(name),
        body: config,
        repeatable: true,
      });
    },

    async get(name: string, options: CallOptions = {}): Promise<PoolView> {
      return await callValue(target, { ...options, ...reading, path: path(name) });
    },

    async list(options: CallOptions = {}): Promise<PoolList> {
      return await callValue(target, { ...options, ...reading, path: "/v1/pools" });
    },
  };
}

/** The routes of workers. What they post says what shall be, so that repeating it does no harm. */
export function workersOf(target: Target) {
  const path = (id: string, rest = "") => `/v1/workers/${encodeURIComponent(id)}${rest}`;
  const post = (id: string, verb: string, body: object, options: CallOptions): Promise<WorkerStatus> =>
    callValue(target, { ...options, method: "POST", path: path(id, `/${verb}`), body, repeatable: true });
  return {
    async list(
      filter: { pool?: string; states?: readonly WorkerState[] } = {},
      options: CallOptions = {},
    ): Promise<WorkerList> {
      const query = { pool: filter.pool, state: filter.states };
      return await callValue(target, { ...options, ...reading, path: "/v1/workers", query });
    },

    async get(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      return await callValue(target, { ...options, ...reading, path: path(id) });
    },

    async why(id: string, options: CallOptions = {}): Promise<Why> {
      return await callValue(target, { ...options, ...reading, path: path(id, "/why") });
    },

    /** Gives it no new runs, and keeps it: neither idle time nor a time-out ends it. */
    async hold(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      return await post(id, "hold", {}, options);
    },

    /** Lets its runs end and gives it no others; then it goes. */
    async drain(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      return await post(id, "drain", {}, options);
    },

    /** Ends a hold, or a drain that has not come to its end. */
    async resume(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      return await post(id, "resume", {}, options);
    },

    /** Destroys it now, runs or not. */
    async kill(id: string, options: CallOptions & { reason?: string } = {}): Promise<WorkerStatus> {
      const { reason, ...rest } = options;
      return await post(id, "kill", reason === undefined ? {} : { reason }, rest);
    },
  };
}

/** Machines of one's own. */
export function enrollmentsOf(target: Target) {
  return {
    /** A code with which one machine can join. Without a `key` it is asked for once, as all that creates. */
    async create(
      request: EnrollmentRequestInput = {},
      { key, ...options }: CallOptions & { key?: string } = {},
    ): Promise<Enrollment> {
      return await callValue(target, {
        ...options,
        method: "POST",
        path: "/v1/enrollments",
        body: request,
        ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
        repeatable: key !== undefined,
      });
    },
  };
}
