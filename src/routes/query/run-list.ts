// How are the runs of several pools merged into one list?
import type { Objects, RunFilter } from "../../objects/rpc.ts";
import type { RunList, RunSummary } from "../../schema/run/run.ts";
import type { Place, Position } from "./cursor.ts";
import { mergeNewest } from "./merge.ts";

/**
 * One page of the runs of several pools, newest first by (submittedAt, id). `marks` has the moment at which
 * each pool was listed.
 */
export async function listRuns(
  objects: Objects,
  pools: readonly string[],
  filter: RunFilter,
  page: { limit: number; position?: Position | undefined; hidesRuns?: boolean | undefined },
): Promise<RunList & { marks: Map<string, string> }> {
  const { limit, position, hidesRuns: hidesItems } = page;
  const marks = new Map<string, string>();
  const fetch = async (name: string, cursor: string | undefined) => {
    const { items, next, mark } = await objects.pool(name).list(filter, { limit, cursor });
    // Keep the mark of the first fetch: a change between two fetches then still counts as new.
    if (!marks.has(name)) marks.set(name, mark);
    return { items, next };
  };
  const list = await mergeNewest({ names: pools, fetch, placeOf, limit, position, hidesItems });
  return { ...list, marks };
}

/** Where a run stands in a list. */
export function placeOf(run: RunSummary): Place {
  return { at: run.submittedAt, id: run.id };
}
