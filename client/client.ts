// The typed client: what `createClient` takes, and which calls it offers.
import { auditOf } from "./audit.ts";
import { easyCallsOf } from "./easy.ts";
import { enrollmentsOf, poolsOf, workersOf } from "./fleet.ts";
import { deploymentOf } from "./operator/deployment.ts";
import { projectsOf } from "./projects.ts";
import { jobsOf } from "./runs/jobs.ts";
import { rerunsOf } from "./runs/rerun.ts";
import { runListsOf } from "./runs/run-lists.ts";
import { singleRunsOf, submissionsOf } from "./runs/runs.ts";
import { secretsOf } from "./secrets.ts";
import { sessionsOf } from "./sessions.ts";
import { snapshotsOf } from "./snapshots.ts";
import { tokensOf } from "./tokens.ts";
import { type CallOptions, callStreamPatiently, type Target } from "./transport/http.ts";
import { callOf } from "./transport/operations.ts";
import { fetchFor } from "./transport/proven-fetch.ts";
import { DEFAULT_PATIENCE, type Patience, patienceOf } from "./transport/retry.ts";
import { ServerClock } from "./transport/server-clock.ts";
import { trustOf } from "./trust.ts";
import { tunnelsOf } from "./tunnels/tunnels.ts";
import { webhooksOf } from "./webhooks.ts";

export interface ClientOptions {
  /** Where Drover listens, without a path: `https://drover.example.com`. */
  url: string;
  token: string;
  userAgent?: string;
  /** The project to act in, if the token belongs to none: only the break-glass secret does. */
  project?: string | undefined;
  /** How long a repeatable call is retried. */
  patience?: Partial<Patience>;
  /**
   * Sends the requests; pass your own function to use a proxy, for example. Default: the global `fetch`. For
   * a Drover on this machine, the default is a `fetch` that first makes the server prove that it knows the
   * token, and rejects with a `StrangerError` if the server does not.
   */
  fetch?: typeof fetch;
}

/**
 * A typed client for Node 20.6 and later.
 *
 * Calls that are safe to repeat are retried: reads, calls that set a state, submissions, and other calls with
 * a key. All other calls are sent once, since after a lost answer it is unknown whether they took effect.
 * Most programs need only `run`, `wait`, `logs` and `abort`; the other calls cover all routes.
 */
export function createClient(options: ClientOptions) {
  const target: Target = {
    url: options.url,
    token: options.token,
    userAgent: options.userAgent ?? "drover-client",
    project: options.project,
    patience: patienceOf(DEFAULT_PATIENCE, options.patience),
    clock: new ServerClock(),
    fetch: options.fetch ?? fetchFor(options.url, options.token),
  };
  return {
    ...easyCallsOf(target),

    /**
     * The server's time in milliseconds since 1970, according to its last answer. Compare it with the
     * server's timestamps.
     */
    now: () => target.clock.now(),

    runs: {
      ...submissionsOf(target),
      ...singleRunsOf(target),
      ...runListsOf(target),
      ...rerunsOf(target),
      ...tunnelsOf(target),
    },
    jobs: jobsOf(target),
    pools: poolsOf(target),
    workers: workersOf(target),
    snapshots: snapshotsOf(target),
    enrollments: enrollmentsOf(target),
    projects: projectsOf(target),
    tokens: tokensOf(target),
    sessions: sessionsOf(target),
    webhooks: webhooksOf(target),
    audit: auditOf(target),
    trust: trustOf(target),
    secrets: secretsOf(target),
    deployment: deploymentOf(target),

    /** Metrics in Prometheus' text format, of all pools or of the named pools. */
    async metrics(options: CallOptions & { pools?: readonly string[] } = {}): Promise<string> {
      const { pools, ...rest } = options;
      const call = callOf("getMetrics", { query: { pool: pools } }, rest);
      return await (await callStreamPatiently(target, call)).text();
    },
  };
}

export type Client = ReturnType<typeof createClient>;
