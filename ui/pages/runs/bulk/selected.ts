// Which runs does a selection mean at this moment, and which of them does an act fit?
import type { RunSummary } from "../../../../src/generated/api.ts";
import { type AnswerOf, ask, type InputOf } from "../../../api/send.ts";
import { silentPools } from "../../../parts/lists/silent.tsx";
import { IncompleteError } from "../../../parts/unsure.ts";
import type { Selection } from "../click.ts";
import { type Filter, queryFor } from "../filter.ts";
import { type Found, type Gathering, gathered } from "./gathered.ts";

const PAGE = 1_000;
/** So many ids fit into an address. */
const IDS = 50;

/**
 * The runs of a selection, from `after` on, that an act fits. Rejects as `ask` does, and with an
 * `IncompleteError` if a pool does not answer: an act on all runs must not leave out some in silence.
 */
export async function selectedRuns(
  selection: Selection,
  filter: Filter,
  gathering: Gathering,
  signal: AbortSignal,
): Promise<Found> {
  if (selection.is === "ids") {
    const page = async () => ({ items: await byIds(selection.ids, signal), next: null });
    return await gathered(page, gathering);
  }
  // The cursor of the shown page is no part of what matches.
  const query = { ...queryFor({ ...filter, cursor: "" }), limit: PAGE };
  return await gathered((cursor) => wholeList({ ...query, cursor }, signal), gathering);
}

async function byIds(ids: readonly string[], signal: AbortSignal): Promise<RunSummary[]> {
  const items: RunSummary[] = [];
  for (let at = 0; at < ids.length; at += IDS) {
    const page = await wholeList({ id: ids.slice(at, at + IDS) }, signal);
    items.push(...page.items);
  }
  return items;
}

async function wholeList(
  query: NonNullable<InputOf<"listRuns">["query"]>,
  signal: AbortSignal,
): Promise<AnswerOf<"listRuns">> {
  const list = await ask("listRuns", { query }, signal);
  const silent = silentPools(list.service);
  if (silent.length > 0)
    throw new IncompleteError(silent.map((pool) => `this pool does not answer: ${pool}`));
  return list;
}
