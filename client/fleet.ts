// The client's calls about pools, workers and enrollments. The operation determines the type of an answer.
import type { CallOptions, Target } from "./transport/http.ts";
import { ask, flag } from "./transport/operations.ts";
import type { EnrollmentRequest, PoolConfig, WorkerState } from "./types.ts";

/** The time that a call is about (RFC 3339). */
type SpanOptions = CallOptions & { since?: string; until?: string };

/** The routes of pools (api.md#pools). Each call rejects with `ApiError` or `UnreachableError`. */
export function poolsOf(target: Target) {
  return {
    /** Creates the pool, or replaces its configuration. */
    put: (name: string, config: PoolConfig, options?: CallOptions) =>
      ask(target, "putPool", { path: { name }, body: config }, options),

    /**
     * Deletes the pool if it is empty; with `drain`, as soon as it is empty. With `force`, ends its runs and
     * machines at once, and `leftBehind` names the machines that may be left at the provider.
     */
    delete(
      name: string,
      { drain, force, ...options }: CallOptions & { drain?: boolean; force?: boolean } = {},
    ) {
      const query = { drain: flag(drain), force: flag(force) };
      return ask(target, "deletePool", { path: { name }, query }, options);
    },

    /**
     * The changes after number `after`; without `after`, everything live. With `waitMs`, waits for a change.
     */
    events: (pool: string, { after, ...options }: CallOptions & { after?: number } = {}) =>
      ask(target, "listPoolEvents", { query: { pool, after: after?.toString() } }, options),

    get: (name: string, options?: CallOptions) => ask(target, "getPool", { path: { name } }, options),

    /** One page of the runs that wait for a place, in queue order. */
    queue: (
      name: string,
      { limit, cursor, ...options }: CallOptions & { limit?: number; cursor?: string } = {},
    ) => ask(target, "listQueue", { path: { name }, query: { limit, cursor } }, options),

    /**
     * What happened to the runs and machines of a pool from `since` on and before `until` (RFC 3339), oldest
     * first. Without them: in the last hour. `next` is the `since` of the rest.
     */
    history: (name: string, { since, until, ...options }: SpanOptions = {}) =>
      ask(target, "getPoolHistory", { path: { name }, query: { since, until } }, options),

    /** How a pool was, once a minute at most, oldest first. Without a span: in the last hour. */
    samples: (name: string, { since, until, ...options }: SpanOptions = {}) =>
      ask(target, "listPoolSamples", { path: { name }, query: { since, until } }, options),

    /** What was counted in each hour, oldest first. Without a span: in the last day. */
    tallies: (name: string, { since, until, ...options }: SpanOptions = {}) =>
      ask(target, "listPoolTallies", { path: { name }, query: { since, until } }, options),

    /** The workers whose machines are gone since 7 days, latest first. `next` is the `until` of the rest. */
    goneWorkers: (name: string, { since, until, limit, ...options }: SpanOptions & { limit?: number } = {}) =>
      ask(target, "listGoneWorkers", { path: { name }, query: { since, until, limit } }, options),

    list: (options?: CallOptions) => ask(target, "listPools", {}, options),
  };
}

/** Which workers a list has. */
export interface WorkerFilter {
  pool?: string;
  states?: readonly WorkerState[];
  limit?: number;
  cursor?: string | undefined;
}

/** The routes of workers. Each POST sets a state, so repeating a POST is harmless. */
export function workersOf(target: Target) {
  const setBehavior =
    (how: "holdWorker" | "drainWorker" | "resumeWorker") => (id: string, options?: CallOptions) =>
      ask(target, how, { path: { id } }, { ...options, repeatable: true });
  return {
    /** One page of the workers; `next` of the answer is the `cursor` of the next page. */
    list: ({ states, ...filter }: WorkerFilter = {}, options?: CallOptions) =>
      ask(target, "listWorkers", { query: { ...filter, state: states } }, options),

    get: (id: string, options?: CallOptions) => ask(target, "getWorker", { path: { id } }, options),

    why: (id: string, options?: CallOptions) => ask(target, "explainWorker", { path: { id } }, options),

    /** The end of what the console of its machine has shown, where its provider has one. */
    console: (id: string, options?: CallOptions) =>
      ask(target, "getWorkerConsole", { path: { id } }, options),

    /** Keeps the worker, but gives it no new runs. Neither idle time nor a timeout ends a held worker. */
    hold: setBehavior("holdWorker"),

    /** Gives the worker no new runs, lets its runs end, then ends the worker. */
    drain: setBehavior("drainWorker"),

    /** Undoes a hold, or a drain that is not finished. */
    resume: setBehavior("resumeWorker"),

    /**
     * Destroys the worker's machine now, whatever runs on it. With `force`, does not wait for the provider's
     * confirmation; `leftBehind` then names the machine.
     */
    kill(id: string, { reason, force, ...options }: CallOptions & { reason?: string; force?: boolean } = {}) {
      const input = { path: { id }, body: { reason, force } };
      return ask(target, "killWorker", input, { ...options, repeatable: true });
    },
  };
}

/** The calls that enroll self-hosted machines. */
export function enrollmentsOf(target: Target) {
  return {
    /**
     * Makes a code with which one machine can join. Another call with the same `key` returns the same code.
     */
    create: (request: EnrollmentRequest = {}, options?: CallOptions & { key?: string }) =>
      ask(target, "createEnrollment", { body: request }, options),
  };
}
