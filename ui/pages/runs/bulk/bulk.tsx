// How does a reader do something to all selected runs? A question names and counts them (ui.md#d19).
import { may } from "../../../api/session.ts";
import type { Selection } from "../click.ts";
import { MOST_SELECTED, select } from "../selection.ts";
import { BULK_ACTS } from "./bulk-acts.ts";
import { BulkButton } from "./button.tsx";

interface Props {
  selection: Selection;
  /** The rows that the list shows. */
  shown: { ids: readonly string[] };
  /** Asks for the list anew. */
  again(): void;
}

/** What is selected, and what can be done to it. */
export function Bulk(props: Props) {
  const { selection, shown, again } = props;
  const isNone = selection.is === "ids" && selection.ids.length === 0;
  if (isNone && shown.ids.length === 0) return null;
  const hidden = selection.is === "all" ? [] : selection.ids.filter((id) => !shown.ids.includes(id));
  return (
    <section class="bulk" aria-label="Selected runs">
      <p role="status">{wordsFor(selection, hidden.length)}</p>
      <button type="button" class="small" onClick={() => select({ is: "ids", ids: shown.ids })}>
        Select the {shown.ids.length} shown
      </button>
      <button type="button" class="small" onClick={() => select({ is: "all" })}>
        Select all that match
      </button>
      {!isNone && (
        <button type="button" class="small" onClick={() => select({ is: "ids", ids: [] })}>
          Select none
        </button>
      )}
      {!isNone &&
        may("runs:write") &&
        BULK_ACTS.map((act) => <BulkButton key={act.verb} act={act} again={again} />)}
    </section>
  );
}

function wordsFor(selection: Selection, hidden: number): string {
  if (selection.is === "all") return "All runs that match are selected.";
  const { length } = selection.ids;
  if (length === 0) return "No run is selected.";
  const most = length >= MOST_SELECTED ? ` At most ${MOST_SELECTED} are selected one by one.` : "";
  return `${length} selected${hidden > 0 ? `, ${hidden} of them on other pages` : ""}.${most}`;
}
