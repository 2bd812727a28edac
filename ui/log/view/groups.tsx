// What folds the groups of a log (ui.md#groups)?
import type { LogPane } from "../pane/log-pane.ts";

/** A group, for the row of its marker. */
export interface RowGroup {
  isOpen: boolean;
  /** How many rows it has in memory, without its marker. */
  rows: number;
  /** Opens or closes it; the element of the row stays where it is. */
  onToggle: (marker: Element) => void;
}

/** Opens or closes one group. How much is folded is in its name, since nothing else shows it. */
export function FoldButton({ group, name }: { group: RowGroup; name: string }) {
  const { isOpen, rows, onToggle } = group;
  const count = `${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}`;
  return (
    <button
      type="button"
      class="log-fold"
      aria-expanded={isOpen}
      aria-label={`${name}, ${count}`}
      title={count}
      data-sign={isOpen ? "▾" : "▸"}
      onClick={({ currentTarget }) => onToggle(currentTarget.parentElement ?? currentTarget)}
    />
  );
}

/** Opens or closes all groups in memory. Nothing, if there are none. */
export function FoldAll({ pane }: { pane: LogPane }) {
  if (pane.folds.folds.value.groups.length === 0) return null;
  return (
    <>
      <button type="button" onClick={() => pane.folds.setAll(true)}>
        Expand all
      </button>
      <button type="button" onClick={() => pane.folds.setAll(false)}>
        Collapse all
      </button>
    </>
  );
}
