// Which entries of the audit log does the address choose (ui.md#d15)?
import type { InputOf } from "../../api/send.ts";
import { hrefOf, place } from "../../router/place.ts";
import { instantOf } from "./instant.ts";

/** The query of `GET /v1/audit`. */
export type AuditQuery = NonNullable<InputOf<"listAudit">["query"]>;

/** The choice, as the address has it. What is not chosen is empty. */
export interface Filter {
  actor: string;
  action: string;
  /** The id of what was acted on. */
  target: string;
  /** The id of a run that entries concern. */
  run: string;
  pool: string;
  since: string;
  until: string;
  /** A text that entries of the shown page have. */
  text: string;
  cursor: string;
}

/** What the address says. */
export function filterOf(): Filter {
  const { query } = place.value;
  const of = (name: string) => query.get(name) ?? "";
  const { cursor, pool, text } = { cursor: of("cursor"), pool: of("pool"), text: of("q") };
  const who = { actor: of("actor"), action: of("action"), target: of("target"), run: of("run") };
  return { ...who, pool, since: of("since"), until: of("until"), text, cursor };
}

/** The address of the entries with these properties, from any page. */
export function historyHref(wanted: Partial<Filter>): string {
  const { text, ...others } = wanted;
  return hrefOf("/ui/events", new URLSearchParams(), { ...others, q: text });
}

/** Whether anything but the pool is chosen. */
export function isFiltered({ pool: _pool, cursor: _cursor, ...others }: Filter): boolean {
  return Object.values(others).some((value) => value !== "");
}

/** The same as the query of `GET /v1/audit`, which knows no text. Times are relative to `nowMs`. */
export function queryFor(filter: Filter, nowMs: number): AuditQuery {
  const { actor, action, target, run, pool, since, until, cursor } = filter;
  const query: AuditQuery = {};
  for (const [name, value] of Object.entries({ actor, target, pool, cursor })) {
    if (value !== "") Object.assign(query, { [name]: value });
  }
  // The server refuses a word that is no action, and says which words there are.
  if (action !== "") query.action = action as NonNullable<AuditQuery["action"]>;
  if (run !== "") query.within = `run:${run}`;
  if (since !== "") query.since = instantOf(since, nowMs);
  if (until !== "") query.until = instantOf(until, nowMs);
  return query;
}
