// How are several pools asked the same question?
import type { ServiceStatus } from "../../schema/run/run.ts";
import { inParallel } from "../http/parallel.ts";
import { asDroverError } from "../http/problem.ts";

/** The answers by pool, in any order, and the health of each pool, in the order of the question. */
export interface PoolAnswers<Answer> {
  answers: Map<string, Answer>;
  service: ServiceStatus[];
}

/**
 * Asks several pools the same question. A pool that fails has no answer, and `service` says why, so that a
 * broken pool does not hide the answers of other pools. If all pools fail, rejects with the first pool's
 * error.
 */
export async function askPools<Answer>(
  names: readonly string[],
  ask: (name: string) => Promise<Answer>,
): Promise<PoolAnswers<Answer>> {
  const answers = new Map<string, Answer>();
  const failures = new Map<string, unknown>();
  await inParallel(names, async (name) => {
    try {
      answers.set(name, await ask(name));
    } catch (error) {
      failures.set(name, error);
    }
  });
  const [first] = names;
  if (first !== undefined && answers.size === 0) throw failures.get(first);
  const service = names.map((pool) => ({ pool, ...health(failures.get(pool)) }));
  return { answers, service };
}

/** Any error makes a pool unhealthy. `unknown_pool`: the pool is listed, but has no configuration yet. */
function health(error: unknown): Omit<ServiceStatus, "pool"> {
  if (error === undefined) return { initialized: true, healthy: true };
  const { code, message } = asDroverError(error);
  return { initialized: code !== "unknown_pool", healthy: false, error: message };
}
