// Which run of the list comes after or before this one?
import type { RunSummary } from "../../../src/generated/api.ts";
import { hasFailed } from "../../../src/shared/run-state.ts";
import { ask } from "../../api/send.ts";
import { silentPools } from "../../parts/lists/silent.tsx";
import { filterIn, queryFor } from "../runs/filter.ts";

/** Where to go in the list. `failed`: the next one that has failed. */
export type Step = "next" | "before" | "failed";

/** A run of the list, and the list's query with the page on which it is. */
interface Neighbor {
  id: string;
  list: URLSearchParams;
}

const PAGE = 50;
/** A failure that is further away is found by the filter. */
const MOST_PAGES = 20;

/** The run, or why there is none, in words. Rejects if Drover refuses the list. */
export async function neighborOf(
  id: string,
  step: Step,
  list: URLSearchParams,
  signal: AbortSignal,
): Promise<Neighbor | string> {
  let rows = await pageOf(list, signal);
  const at = rows.items.findIndex((run) => run.id === id);
  if (at < 0) return "This run is not in this part of the list any more.";
  if (step === "before") {
    const before = rows.items[at - 1];
    if (before !== undefined) return { id: before.id, list };
    return list.has("cursor") ? "This is the first run of this page of the list." : "This is the newest run.";
  }
  const fits = (run: RunSummary) => step === "next" || hasFailed(run);
  let [found, here] = [rows.items.slice(at + 1).find(fits), list];
  for (let pages = 1; found === undefined && rows.next !== null && pages < MOST_PAGES; pages += 1) {
    here = new URLSearchParams(here);
    here.set("cursor", rows.next);
    rows = await pageOf(here, signal);
    found = rows.items.find(fits);
  }
  if (found !== undefined) return { id: found.id, list: here };
  const [silent] = silentPools(rows.service);
  if (silent !== undefined) return `The list is not whole: this pool does not answer: ${silent}.`;
  if (rows.next !== null) return `None of the next ${MOST_PAGES * PAGE} runs has failed.`;
  return step === "next" ? "This is the oldest run of the list." : "No older run of the list has failed.";
}

function pageOf(list: URLSearchParams, signal: AbortSignal) {
  return ask("listRuns", { query: { ...queryFor(filterIn(list)), limit: PAGE } }, signal);
}
