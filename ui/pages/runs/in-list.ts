// From which list does a reader open a run? Its address has the filter, so the way on through the list stays.
import { itemHref, place } from "../../router/place.ts";

/** What of the list's address chooses runs; selection and groups do not. */
const CHOOSE = ["pool", "state", "label", "q", "since", "array", "mine", "failed", "cursor"];

/** The address of a run that keeps the filter of the list from which it is opened, as `list`. */
export function runHref(id: string, from: URLSearchParams = place.value.query): string {
  const list = new URLSearchParams([...from].filter(([name]) => CHOOSE.includes(name)));
  const href = itemHref("runs", id);
  return list.size === 0 ? href : `${href}?${new URLSearchParams({ list: String(list) })}`;
}

/** The list's query, as the address of a run has it. */
export function listQuery(): URLSearchParams {
  return new URLSearchParams(place.value.query.get("list") ?? "");
}
