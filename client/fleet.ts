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

/** The routes of workers. `drain` and `kill` say what shall be, so that repeating them does no harm. */
export function workersOf(target: Target) {
  const path = (id: string, rest = "") => `/v1/workers/${encodeURIComponent(id)}${rest}`;
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

    /** Lets its runs end and gives it no others; then it goes. */
    async drain(id: string, options: CallOptions = {}): Promise<WorkerStatus> {
      const call = {
        ...options,
        method: "POST",
        path: path(id, "/drain"),
        body: {},
        repeatable: true,
      } as const;
      return await callValue(target, call);
    },

    /** Destroys it now, runs or not. */
    async kill(id: string, options: CallOptions & { reason?: string } = {}): Promise<WorkerStatus> {
      const { reason, ...rest } = options;
      const body = reason === undefined ? {} : { reason };
      return await callValue(target, {
        ...rest,
        method: "POST",
        path: path(id, "/kill"),
        body,
        repeatable: true,
      });
    },
  };
}
