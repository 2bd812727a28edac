// How are the runs of several pools merged into one list?
import type { Objects, RunFilter } from "../../objects/rpc.ts";
import type { RunList, RunSummary } from "../../schema/run/run.ts";
import { encodePosition, isAfter, newestFirst, type Place, type Position } from "./cursor.ts";
import { askPools } from "./fan-out.ts";

/** The runs of one pool, which are merged with the runs of other pools. */
interface Source {
  name: string;
  /** The fetched runs that are not in the answer yet. */
  window: RunSummary[];
  /** The pool's cursor with which `window` was fetched. Absent: `window` begins with the newest run. */
  cursor: string | undefined;
  next: string | null;
}

/**
 * One page of the runs of several pools, newest first by (submittedAt, id). A cursor holds the position of
 * the page's last run, and a cursor for each pool. So pages neither repeat nor skip runs while new runs
 * arrive. `marks` has the moment at which each pool was listed.
 */
export async function listRuns(
  objects: Objects,
  pools: readonly string[],
  filter: RunFilter,
  page: { limit: number; position?: Position | undefined; hidesRuns?: boolean | undefined },
): Promise<RunList & { marks: Map<string, string> }> {
  const { limit, position } = page;
  const marks = new Map<string, string>();
  const fetch = async (name: string, cursor: string | undefined): Promise<Source> => {
    const { items, next, mark } = await objects.pool(name).list(filter, { limit, cursor });
    // Keep the mark of the first fetch: a change between two fetches then still counts as new.
    if (!marks.has(name)) marks.set(name, mark);
    return { name, cursor, next, window: items.filter((run) => isAfter(placeOf(run), position)) };
  };
  const { answers, service } = await askPools(pools, (name) => fetch(name, position?.pools?.[name]));
  const sources = [...answers.values()];
  const items: RunSummary[] = [];
  while (items.length < limit) {
    for (const source of sources) {
      while (source.window.length === 0 && source.next !== null) {
        Object.assign(source, await fetch(source.name, source.next));
      }
    }
    const newest = takeNewest(sources);
    if (newest === undefined) break;
    items.push(newest);
  }
  return { items, next: nextOf(items, sources, page.hidesRuns), service, marks };
}

/** Where a run stands in a list. */
export function placeOf(run: RunSummary): Place {
  return { at: run.submittedAt, id: run.id };
}

/** Removes the newest run from the windows of all pools, and returns this run. */
function takeNewest(sources: readonly Source[]): RunSummary | undefined {
  let best: { source: Source; head: RunSummary } | undefined;
  for (const source of sources) {
    const [head] = source.window;
    if (head === undefined) continue;
    if (best === undefined || newestFirst(placeOf(head), placeOf(best.head)) < 0) best = { source, head };
  }
  return best?.source.window.shift();
}

/** The cursor behind these runs. With `hidesRuns` it has no positions in pools: the next page looks again. */
function nextOf(items: readonly RunSummary[], sources: readonly Source[], hidesRuns = false): string | null {
  const last = items.at(-1);
  const more = sources.some((source) => source.window.length > 0 || source.next !== null);
  if (last === undefined || !more) return null;
  if (hidesRuns) return encodePosition(placeOf(last));
  const pools: Record<string, string> = {};
  for (const { name, window, cursor, next } of sources) {
    const resume = window.length === 0 && next !== null ? next : cursor;
    if (resume !== undefined) pools[name] = resume;
  }
  return encodePosition({ ...placeOf(last), pools });
}
