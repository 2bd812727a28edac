// Which rows are in the document of the browser? Only those that are visible.
import { NO_FOLDS } from "../fold/groups.ts";
import { stretchesOf } from "../fold/shown.ts";
import { drawnRows, type TextRow } from "./drawn.ts";
import { Boundary, type Gutter, numbered, Row } from "./row.tsx";
import { type RowsPane, useRows } from "./use-rows.ts";

interface RowsProps {
  pane: RowsPane;
  label: string;
  wraps: boolean;
  /** The address of a row; `to`: of the rows from the linked one to this one. */
  hrefOf: (row: TextRow) => string;
  onExtend: (row: TextRow) => void;
  isMarked: (row: TextRow) => boolean;
  /** What stands before a row instead of the number of its line. */
  gutterOf?: (row: TextRow) => Gutter;
}

/** The rows of a pane in view, and the scroll bar beside them (ui.md#log-rows). */
export function Rows({ pane, label, wraps, hrefOf, onExtend, isMarked, gutterOf }: RowsProps) {
  const { document, rows: shown, range, toggle, refs, handlers } = useRows(pane);
  const { groups, open } = pane.folds?.folds.value ?? NO_FOLDS;
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
                  gutter={(gutterOf ?? numbered)(row)}
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
