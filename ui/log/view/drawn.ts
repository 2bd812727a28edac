// What do the visible rows of a document show?

import { type LogDocument, rowOf } from "../bytes/document.ts";
import { bytesOf, isContinued, type LogWindow, lineNumber, rowBytes } from "../bytes/window.ts";
import { type Span, spansOf, styleAfter } from "../text/spans.ts";

/** How far above the first visible row a color is looked for. */
const STYLE_BYTES = 64 * 1024;
/** A new one for each text would be slow, and none of them keeps anything. */
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** A row of text to draw. */
export interface TextRow {
  kind: "text";
  key: string;
  attempt: string;
  /** The bytes of the row. */
  from: number;
  to: number;
  /** The number of its line; undefined: nobody has counted the lines before. */
  line: number | undefined;
  isContinued: boolean;
  spans: readonly Span[];
}

/** A row to draw. */
export type DrawnRow = TextRow | { kind: "boundary"; key: string; attempt: string };

/** The rows `from` up to `to` of a document. Colors go on from row to row (ui.md#log-text). */
export function drawnRows(document: LogDocument, { from, to }: { from: number; to: number }): DrawnRow[] {
  const rows: DrawnRow[] = [];
  let style: string | undefined;
  for (let index = from; index < to; index++) {
    const found = rowOf(document, index);
    if (found === undefined) break;
    if (found.kind === "boundary") {
      style = "";
      rows.push({ kind: "boundary", key: `${found.attempt}/boundary`, attempt: found.attempt });
      continue;
    }
    const { row } = found;
    const { attempt, window } = found.section;
    const bytes = rowBytes(window, row);
    style ??= styleBefore(window, bytes.from);
    const shown = spansOf(UTF8.decode(bytesOf(window, bytes.from, bytes.to)), style);
    style = shown.style;
    rows.push({
      kind: "text",
      key: `${attempt}/${bytes.from}`,
      attempt,
      ...bytes,
      line: lineNumber(window, row),
      isContinued: isContinued(window, row),
      spans: shown.spans,
    });
  }
  return rows;
}

function styleBefore(window: LogWindow, offset: number): string {
  return styleAfter("", UTF8.decode(bytesOf(window, offset - STYLE_BYTES, offset)));
}
