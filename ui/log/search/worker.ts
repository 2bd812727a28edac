// The thread that searches output. The page lives meanwhile, and can end it at any time (ui.md#searches).
import type { Needle } from "./needle.ts";
import { newSearch, type Progress, type Search, searched } from "./search.ts";
import type { Order } from "./search-thread.ts";
import { needleFor } from "./wanted.ts";

let needle: Needle | undefined;
let search: Search | undefined;

postMessage("ready");
addEventListener("message", ({ data }: MessageEvent<Order>) => {
  if ("wanted" in data) {
    needle = needleFor(data.wanted);
    search = newSearch(data.from);
  }
  if (needle === undefined || search === undefined) return;
  const before = search;
  const known = before.hits.length;
  search = searched(before, needle, data.bytes, data.isLast);
  const progress: Progress = {
    to: search.to,
    goesOnAt: search.to - search.rest.length,
    count: search.count - before.count,
    hits: search.hits.slice(known),
  };
  postMessage(progress);
});
