import { easyCallsOf } from "./easy.ts";
import { enrollmentsOf, poolsOf, workersOf } from "./fleet.ts";
import { runListsOf } from "./runs/run-lists.ts";
import { singleRunsOf, submissionsOf } from "./runs/runs.ts";
import { snapshotsOf } from "./snapshots.ts";
import { type CallOptions, callStreamPatiently, type Target } from "./transport/http.ts";
import { callOf } from "./transport/operations.ts";
import { fetchFor } from "./transport/proven-fetch.ts";
import { DEFAULT_PATIENCE, type Patience, patienceOf } from "./transport/retry.ts";
import { ServerClock } from "./transport/server-clock.ts";

export interface ClientOptions {
  /** Where Drover listens, without a path: `https://drover.example.com`. */
  url: string;
  token: string;
  userAgent?: string;
  /** How long a call that may be repeated is tried again. */
  patience?: Partial<Patience>;
  /**
   * What sends the requests, such as one with a proxy. Default: the global `fetch`; for a Drover on this
   * machine one that has it prove that it knows the token, and rejects with a `StrangerError` if it does not.
   */
  fetch?: typeof fetch;
}

/**
 * A typed client for Node 20.6 and later.
 *
 * What can be repeated safely is repeated: reads, what says how things shall be, and what carries a key, as
 * every submission does. Everything else is sent once, because after a lost answer nobody knows whether it
 * was done. `run`, `wait`, `logs` and `abort` are what most programs need; the rest is all routes there are.
 */
export function createClient(options: ClientOptions) {
  const target: Target = {
    url: options.url,
    token: options.token,
    userAgent: options.userAgent ?? "drover-client",
    patience: patienceOf(DEFAULT_PATIENCE, options.patience),
    clock: new ServerClock(),
    fetch: options.fetch ?? fetchFor(options.url, options.token),
  };
  return {
    ...easyCallsOf(target),

    /**
     * The server's time in milliseconds since 1970, by its last answer: to be compared with instants that it
     * gives.
     */
    now: () => target.clock.now(),

    runs: { ...submissionsOf(target), ...singleRunsOf(target), ...runListsOf(target) },
    pools: poolsOf(target),
    workers: workersOf(target),
    snapshots: snapshotsOf(target),
    enrollments: enrollmentsOf(target),

    /** What Prometheus scrapes, as its text: of all pools, or of those that are named. */
    async metrics(options: CallOptions & { pools?: readonly string[] } = {}): Promise<string> {
      const { pools, ...rest } = options;
      const call = callOf("getMetrics", { query: { pool: pools } }, rest);
      return await (await callStreamPatiently(target, call)).text();
    },
  };
}

export type Client = ReturnType<typeof createClient>;
