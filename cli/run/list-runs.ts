// How does a verb read the runs that a filter selects?
import type { Client } from "../../client/client.ts";
import type { RunFilter } from "../../client/runs/run-lists.ts";
import type { CallOptions } from "../../client/transport/http.ts";
import type { RunSummary } from "../../client/types.ts";
import { troublesOf } from "../explain.ts";
import { readPages } from "../pages.ts";

/** Runs, newest first. */
export interface Selection {
  runs: RunSummary[];
  /** Warnings about pools whose runs may be missing. */
  troubles: string[];
}

/**
 * Reads at least `count` runs, or all runs if there are fewer. `project`: of this project only, since a
 * caller without a project sees the runs of all.
 */
export async function readRuns(
  client: Client,
  filter: RunFilter,
  count = Number.POSITIVE_INFINITY,
  options: CallOptions = {},
  project?: string,
): Promise<Selection> {
  const pages = await readPages(count, async (page) => {
    const found = await client.runs.list({ ...filter, ...page }, options);
    return { ...found, items: ofProject(found.items, project) };
  });
  return {
    runs: pages.flatMap(({ items }) => items),
    troubles: [...new Set(pages.flatMap(({ service }) => troublesOf(service)))],
  };
}

function ofProject(runs: readonly RunSummary[], project: string | undefined): RunSummary[] {
  return runs.filter((run) => project === undefined || run.project === project);
}
