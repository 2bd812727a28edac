// Which runs does the address choose (ui.md#d15)?
import type { InputOf } from "../../api/send.ts";
import { place } from "../../router/place.ts";

type Query = NonNullable<InputOf<"listRuns">["query"]>;

/** The choice, as the address has it. What is not chosen is empty. */
export interface Filter {
  pool: string;
  states: readonly string[];
  labels: readonly string[];
  search: string;
  since: string;
  array: string;
  mine: boolean;
  failed: boolean;
  cursor: string;
}

/** What the address says. */
export function filterOf(): Filter {
  return filterIn(place.value.query);
}

/** What a query of the list's address says. */
export function filterIn(query: URLSearchParams): Filter {
  const text = (name: string) => query.get(name) ?? "";
  return {
    pool: text("pool"),
    states: query.getAll("state"),
    labels: query.getAll("label"),
    search: text("q"),
    since: text("since"),
    array: text("array"),
    mine: query.has("mine"),
    failed: query.has("failed"),
    cursor: text("cursor"),
  };
}

/** Whether anything but the pool is chosen. */
export function isFiltered({ states, labels, search, since, array, mine, failed }: Filter): boolean {
  return states.length + labels.length > 0 || `${search}${since}${array}` !== "" || mine || failed;
}

/** The same as the query of `GET /v1/runs`. */
export function queryFor(filter: Filter): Query {
  const { states, labels, search, mine, failed, ...texts } = filter;
  const query: Query = {};
  // The server refuses a word that is no state, and says which words there are.
  if (states.length > 0) query.state = states as Query["state"];
  // In addresses and commands a label is `name=value`, in the API `name:value`.
  if (labels.length > 0) query.label = labels.map((label) => label.replace("=", ":"));
  if (search !== "") query.search = search;
  if (mine) query.mine = "1";
  if (failed) query.failed = "1";
  for (const name of ["pool", "since", "array", "cursor"] as const) {
    if (texts[name] !== "") query[name] = texts[name];
  }
  return query;
}
