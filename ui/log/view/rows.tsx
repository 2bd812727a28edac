// Which rows are in the document of the browser? Only those that are visible.

import { stretchesOf } from "../fold/shown.ts";
import type { LogPane } from "../pane/log-pane.ts";
import { drawnRows, type TextRow } from "./drawn.ts";
import { Boundary, Row } from "./row.tsx";
import { useRows } from "./use-rows.ts";

interface RowsProps {
  pane: LogPane;
  label: string;
  wraps: boolean;
  /** The address of a row; `to`: of the rows from the linked one to this one. */
  hrefOf: (row: TextRow) => string;
  onExtend: (row: TextRow) => void;
  isMarked: (row: TextRow) => boolean;
}

/** The rows of a pane in view, and the scroll bar beside them (ui.md#log-rows). */
export function Rows({ pane, label, wraps, hrefOf, onExtend, isMarked }: RowsProps) {
  const { document, rows: shown, range, toggle, refs, handlers } = useRows(pane);
  const { groups, open } = pane.folds.folds.value;
  const rows = stretchesOf(shown, range).flatMap((stretch) => drawnRows(document, stretch));
  const groupOf = (key: string) => {
    const group = groups.find(({ id, row, to }) => id === key && to > row + 1);
    if (group === undefined) return undefined;
    const { id, row, to } = group;
    return {
      isOpen: open.has(id),
      rows: to - row - 1,
      onToggle: (marker: Element) => toggle(id, row, marker),
    };
  };
  return (
    <div
      class={wraps ? "log log-wraps" : "log"}
      ref={refs.bar}
      role="log"
      aria-live="off"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without focus, keys cannot scroll it (WCAG 2.1.1)
      tabIndex={0}
      {...handlers}
    >
      <div ref={refs.space}>
        <div class="log-view" ref={refs.view}>
          <div class="log-rows" ref={refs.box}>
            {rows.map((row) =>
              row.kind === "boundary" ? (
                <Boundary key={row.key} attempt={row.attempt} />
              ) : (
                <Row
                  key={row.key}
                  row={row}
                  href={hrefOf(row)}
                  isMarked={isMarked(row)}
                  group={groupOf(row.key)}
                  onExtend={() => onExtend(row)}
                />
              ),
            )}
          </div>
        </div>
      </div>
    </div>
  );
}
