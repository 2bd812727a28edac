import type { ServiceStatus } from "../../schema/run/run.ts";
import { inParallel } from "../http/parallel.ts";
import { asDroverError } from "../http/problem.ts";

/** What the pools said, by name, in no order, and how each of them is, in the order asked. */
export interface PoolAnswers<Answer> {
  answers: Map<string, Answer>;
  service: ServiceStatus[];
}

/**
 * Asks several pools the same thing. One that fails leaves its part out and says so in `service`, so that one
 * broken pool hides no other. Fails, with the first pool's error, only if all of them do.
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

/**
 * A pool that the Registry names but that has no configuration yet is not initialized; any other fault is its
 * health.
 */
function health(error: unknown): Omit<ServiceStatus, "pool"> {
  if (error === undefined) return { initialized: true, healthy: true };
  const { code, message } = asDroverError(error);
  return { initialized: code !== "unknown_pool", healthy: false, error: message };
}
