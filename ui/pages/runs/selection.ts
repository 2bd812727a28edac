// Which runs are selected? The address says so: a reload and a copied link show the same (ui.md#d15).
import { go, place, withQuery } from "../../router/place.ts";
import type { Selection } from "./click.ts";

/** An address must stay short enough for servers: who wants more selects all that match. */
export const MOST_SELECTED = 100;

/** What the address selects. */
export function selectionOf(): Selection {
  const { query } = place.value;
  return query.has("all") ? { is: "all" } : { is: "ids", ids: query.getAll("selected") };
}

/** Shows another selection. Back leads to the view before, not through each click. */
export function select(selection: Selection): void {
  const ids = selection.is === "all" ? [] : selection.ids.slice(0, MOST_SELECTED);
  go(withQuery({ selected: ids, all: selection.is === "all" ? "1" : undefined }), { replace: true });
}
