// Which runs does a selection mean at this moment, whole?
import type { RunSummary } from "../../../src/generated/api.ts";
import { ask } from "../../api/send.ts";
import type { Selection } from "./click.ts";
import { type Filter, queryFor } from "./filter.ts";

/** More runs than this are not done in one go: the page would have to stay open too long. */
export const MOST_AT_ONCE = 5_000;

const PAGE = 1_000;
/** So many ids fit into an address. */
const IDS = 50;

/** The runs. `isCut`: there are more than `MOST_AT_ONCE`. `read` is told how many have been read. */
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
    items.push(...page.items);
  }
  return items;
}
