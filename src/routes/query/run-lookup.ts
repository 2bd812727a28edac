// What is the current state of the runs with these ids?

import type { Objects } from "../../objects/rpc.ts";
import type { RunSummary, ServiceStatus } from "../../schema/run/run.ts";
import { DroverError } from "../../shared/errors.ts";
import { isTerminal, RUN_STATES } from "../../shared/run-state.ts";
import { inParallel } from "../http/parallel.ts";
import { hasCode } from "../http/problem.ts";
import { askPools } from "./fan-out.ts";

/** Ids in one call to a pool: as many as one page can answer. */
const IDS_PER_CALL = 1_000;

/** The runs with these ids, and which of them their pools list. */
export interface Found {
  known: Map<string, RunSummary>;
  inPools: Set<string>;
  /** The mark of each pool from before it was asked. */
  marks: Map<string, string>;
  service: ServiceStatus[];
}

/**
 * The current state of the runs with these ids: from their pools, or from their allocations if a pool lacks a
 * run or `isDoubtful` says that its row may be outdated. Only an allocation can say that an id does not
 * exist; then the query fails with `unknown_run` and all such ids (api.md#query-1, api.md#query-5). Adds the
 * answers of allocations to `summaries`.
 */
export async function lookUp(
  objects: Objects,
  { ids, pools }: { ids: readonly string[]; pools: readonly string[] },
  isDoubtful: (run: RunSummary) => boolean,
  summaries: Map<string, RunSummary>,
): Promise<Found> {
  const { answers, service } = await askPools(pools, (name) => listIds(objects, name, ids));
  const rows = [...answers.values()].flatMap(({ items }) => items);
  const known = new Map(rows.map((run) => [run.id, run]));
  const unsure = ids.filter((id) => {
    const row = known.get(id);
    // An end is final, so the pool's word is enough. A run that its pool lacks may have been deleted.
    return row === undefined || (!isTerminal(row.state) && isDoubtful(row));
  });
  await askAllocations(objects, unsure, summaries);
  for (const [id, run] of summaries) {
    const row = known.get(id);
    if (row === undefined || row.version <= run.version) known.set(id, run);
  }
  const marks = new Map([...answers].map(([name, { mark }]) => [name, mark]));
  return { known, inPools: new Set(rows.map(({ id }) => id)), marks, service };
}

async function askAllocations(
  objects: Objects,
  ids: readonly string[],
  summaries: Map<string, RunSummary>,
): Promise<void> {
  const unknown = new Set<string>();
  const expired = new Set<string>();
  await inParallel(ids, async (id) => {
    try {
      summaries.set(id, await objects.allocation(id).summary());
    } catch (error) {
      if (hasCode(error, "unknown_run")) unknown.add(id);
      else if (hasCode(error, "expired_run")) expired.add(id);
      else throw error;
    }
  });
  if (unknown.size > 0) throw unknownRuns(ids.filter((id) => unknown.has(id)));
  if (expired.size > 0) {
    const text = "some of these runs have been deleted; `runs` names them";
    throw new DroverError("expired_run", text, { extra: { runs: ids.filter((id) => expired.has(id)) } });
  }
}

/** The runs of a pool with these ids, and the mark of its first answer. */
async function listIds(
  objects: Objects,
  pool: string,
  ids: readonly string[],
): Promise<{ items: RunSummary[]; mark: string }> {
  const all = { states: [...RUN_STATES], labels: {} };
  const found: RunSummary[] = [];
  let first: string | undefined;
  for (let from = 0; from < ids.length; from += IDS_PER_CALL) {
    const some = { ...all, ids: ids.slice(from, from + IDS_PER_CALL) };
    const { items, mark } = await objects.pool(pool).list(some, { limit: IDS_PER_CALL });
    found.push(...items);
    first ??= mark;
  }
  return { items: found, mark: first ?? "" };
}

function unknownRuns(ids: string[]): DroverError {
  const [first] = ids;
  const text =
    ids.length === 1
      ? `there is no run "${first}"; \`drover ps\` lists the runs there are`
      : `there are no runs with ${ids.length} of these ids, such as "${first}"; \`runs\` names them`;
  return new DroverError("unknown_run", text, { extra: { runs: ids } });
}
