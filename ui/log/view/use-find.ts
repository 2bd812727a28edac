// What does the address look for, and when does its search begin (ui.md#d15)?
import { useComputed, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { go, place, withQuery } from "../../router/place.ts";
import { placeIn } from "../bytes/place.ts";
import type { LogPane } from "../pane/log-pane.ts";
import type { LogSearch } from "../pane/log-search.ts";
import { changesFor, isSame, type Wanted, wantedIn } from "../search/wanted.ts";

const NOTHING: Wanted = { text: "", isPattern: false, matchCase: false };

/** Searches for what the address says, once there is output. Returns how to look for something else. */
export function useFind(pane: LogPane, search: LogSearch): (wanted: Wanted) => void {
  const latest = useRef(NOTHING);
  const hasOutput = useComputed(() => {
    const { is } = pane.status.value;
    const isOpen = is !== "opening" && is !== "counting";
    return (
      isOpen && (is === "ended" || pane.document.value.sections.some(({ window }) => window.to > window.from))
    );
  });
  useSignalEffect(() => {
    const { query } = place.value;
    const wanted = wantedIn(query);
    if (!hasOutput.value || isSame(wanted, latest.current)) return;
    latest.current = wanted;
    // A link to a place is about this place, and the search is beside it.
    void search.find(wanted, { moves: placeIn(query) === undefined });
  });
  return (wanted) => {
    if (isSame(wanted, wantedIn(place.peek().query))) void search.find(wanted);
    else go(withQuery(changesFor(wanted)));
  };
}
