import type { RunSummary } from "../../schema/run/run.ts";
import { asDroverError } from "../http/problem.ts";

/**
 * The first answer that has something in it; nothing if none of them has; their error if all of them failed.
 * Null says that the rows must be read anew, which is an answer, too.
 */
export async function firstMatch(waits: Promise<RunSummary[] | null>[]): Promise<RunSummary[]> {
  let timedOut = waits.length === 0;
  const matching = waits.map(async (wait) => {
    const runs = await wait;
    if (runs === null) return [];
    if (runs.length > 0) return runs;
    timedOut = true;
    throw new Error("nothing matched in time");
  });
  try {
    return await Promise.any(matching);
  } catch (error) {
    if (timedOut) return [];
    throw asDroverError(error instanceof AggregateError ? error.errors[0] : error);
  }
}
