import { enrollmentsOf, poolsOf, workersOf } from "./fleet.ts";
import type { Target } from "./http.ts";
import { DEFAULT_PATIENCE, type Patience } from "./retry.ts";
import { runListsOf } from "./run-lists.ts";
import { singleRunsOf, submissionsOf } from "./runs.ts";

export interface ClientOptions {
  /** Where Drover listens, without a path: `https://drover.example.com`. */
  url: string;
  token: string;
  userAgent?: string;
  /** How long a call that may be repeated is tried again. */
  patience?: Partial<Patience>;
}

/**
 * A typed client for Node 20 and later.
 *
 * What can be repeated safely is repeated: reads, and submissions with an id or a key. Everything else is
 * sent once, because after a lost answer nobody knows whether it was done.
 */
export function createClient(options: ClientOptions) {
  const target: Target = {
    url: options.url,
    token: options.token,
    userAgent: options.userAgent ?? "drover-client",
    patience: { ...DEFAULT_PATIENCE, ...options.patience },
  };
  return {
    runs: { ...submissionsOf(target), ...singleRunsOf(target), ...runListsOf(target) },
    pools: poolsOf(target),
    workers: workersOf(target),
    enrollments: enrollmentsOf(target),
  };
}

export type Client = ReturnType<typeof createClient>;
