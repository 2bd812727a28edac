// Which runs does a selection mean at this moment, whole?
import type { RunSummary } from "../../../src/generated/api.ts";
import { type AnswerOf, ask } from "../../api/send.ts";
import { silentPools } from "../../parts/lists/silent.tsx";
import { IncompleteError } from "../../parts/problem.tsx";
import type { Selection } from "./click.ts";
import { type Filter, queryFor } from "./filter.ts";

/** More runs than this are not done in one go: the page would have to stay open too long. */
export const MOST_AT_ONCE = 5_000;

const PAGE = 1_000;
/** So many ids fit into an address. */
const IDS = 50;

/**
 * The runs. Rejects with an `IncompleteError` if a pool does not answer: what a person does to all runs must
 * not leave out some in silence. `isCut`: there are more than `MOST_AT_ONCE`. `read` is called with the
 * number of runs that have been read.
 */
export async function selectedRuns(
  selection: Selection,
  filter: Filter,
  read: (count: number) => void,
  signal: AbortSignal,
): Promise<{ items: RunSummary[]; isCut: boolean }> {
  if (selection.is === "ids") return { items: await byIds(selection.ids, signal), isCut: false };
  const items: RunSummary[] = [];
  // The cursor of the shown page is no part of what matches.
  let query = { ...queryFor({ ...filter, cursor: "" }), limit: PAGE };
  for (;;) {
    const page = await ask("listRuns", { query }, signal);
    refuseSilent(page);
    items.push(...page.items);
    read(items.length);
    if (page.next === null) return { items, isCut: false };
    if (items.length >= MOST_AT_ONCE) return { items: items.slice(0, MOST_AT_ONCE), isCut: true };
    query = { ...query, cursor: page.next };
  }
}

async function byIds(ids: readonly string[], signal: AbortSignal): Promise<RunSummary[]> {
  const items: RunSummary[] = [];
  for (let at = 0; at < ids.length; at += IDS) {
    const page = await ask("listRuns", { query: { id: ids.slice(at, at + IDS) } }, signal);
    refuseSilent(page);
    items.push(...page.items);
  }
  return items;
}

function refuseSilent({ service }: AnswerOf<"listRuns">): void {
  const silent = silentPools(service);
  if (silent.length > 0)
    throw new IncompleteError(silent.map((pool) => `this pool does not answer: ${pool}`));
}
