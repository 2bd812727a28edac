// What does a view of output show: one attempt, or several with boundaries between them?
import {
  append,
  dropped,
  emptyWindow,
  type LogWindow,
  MAX_WINDOW_BYTES,
  type NewlineCount,
  rowAt,
  rowBytes,
  rowCount,
  withNewlines,
} from "./window.ts";

/** What is shown of one attempt. */
export interface Section {
  /** The end of the attempt's id, such as `1.2`. */
  attempt: string;
  window: LogWindow;
}

/** Attempts in their order. Before each but the first stands a boundary, which is a row. */
export interface LogDocument {
  readonly sections: readonly Section[];
}

/** A byte of an attempt; `boundary`: the row before its first one. It stays the same while rows are added. */
export interface BytePlace {
  attempt: string;
  offset: number | "boundary";
}

/** What a row of a document is. */
export type DocumentRow =
  | { kind: "boundary"; attempt: string }
  | { kind: "text"; section: Section; row: number };

/** A document without bytes: those of this attempt will begin at this offset. */
export function newDocument(attempt: string, at = 0): LogDocument {
  return { sections: [{ attempt, window: emptyWindow(at) }] };
}

/** How many rows there are, with boundaries. */
export function documentRows({ sections }: LogDocument): number {
  return sections.reduce((rows, { window }) => rows + rowCount(window), Math.max(0, sections.length - 1));
}

/** The row with this number, from 0. Undefined if there is none. */
export function rowOf({ sections }: LogDocument, row: number): DocumentRow | undefined {
  let left = row;
  for (const [index, section] of sections.entries()) {
    if (index > 0) {
      if (left === 0) return { kind: "boundary", attempt: section.attempt };
      left -= 1;
    }
    const count = rowCount(section.window);
    if (left < count) return { kind: "text", section, row: left };
    left -= count;
  }
  return undefined;
}

/** The place at which a row begins. Undefined if there is no such row. */
export function placeOf(document: LogDocument, row: number): BytePlace | undefined {
  const found = rowOf(document, row);
  if (found === undefined) return undefined;
  if (found.kind === "boundary") return { attempt: found.attempt, offset: "boundary" };
  const { attempt, window } = found.section;
  return { attempt, offset: rowBytes(window, found.row).from };
}

/** The row that has a place; the first row if its attempt is not shown. */
export function rowAtPlace({ sections }: LogDocument, place: BytePlace): number {
  let before = 0;
  for (const [index, { attempt, window }] of sections.entries()) {
    if (attempt === place.attempt) {
      if (place.offset === "boundary") return before;
      return before + (index > 0 ? 1 : 0) + rowAt(window, place.offset);
    }
    before += rowCount(window) + (index > 0 ? 1 : 0);
  }
  return 0;
}

/** Another attempt begins: a boundary, and nothing of what is shown goes away (ui.md#d3). */
export function withAttempt({ sections }: LogDocument, attempt: string): LogDocument {
  if (sections.some((section) => section.attempt === attempt)) return { sections };
  return { sections: [...sections, { attempt, window: emptyWindow() }] };
}

/** Adds bytes at the end of an attempt. Bytes of an attempt that is not shown are dropped (ui.md#d4). */
export function withBytes(
  document: LogDocument,
  attempt: string,
  offset: number,
  bytes: Uint8Array,
): LogDocument {
  return withWindow(document, attempt, (window) => append(window, offset, bytes));
}

/** Changes the window of an attempt, if it is shown. */
export function withWindow(
  { sections }: LogDocument,
  attempt: string,
  change: (window: LogWindow) => LogWindow,
): LogDocument {
  return {
    sections: sections.map((section) => {
      return section.attempt === attempt ? { attempt, window: change(section.window) } : section;
    }),
  };
}

/** Numbers the lines of an attempt, if the count is about bytes that are shown of it. */
export function withCount(document: LogDocument, attempt: string, count: NewlineCount): LogDocument {
  return withWindow(document, attempt, (window) => withNewlines(window, count));
}

/** How many bytes the document has. */
export function documentBytes({ sections }: LogDocument): number {
  return sections.reduce((sum, { window }) => sum + window.to - window.from, 0);
}

/**
 * Drops bytes at one side until at most `most` are left (ui.md#d6). An attempt of which nothing is left goes
 * away, but never the last one.
 */
export function bounded(document: LogDocument, side: "start" | "end", most = MAX_WINDOW_BYTES): LogDocument {
  let excess = documentBytes(document) - most;
  if (excess <= 0) return document;
  const sections = [...document.sections];
  if (side === "end") sections.reverse();
  const kept: Section[] = [];
  for (const [index, { attempt, window }] of sections.entries()) {
    const size = window.to - window.from;
    const isLast = index === sections.length - 1;
    if (excess >= size && !isLast) {
      excess -= size;
      continue;
    }
    kept.push({ attempt, window: dropped(window, side, Math.max(0, size - excess)) });
    excess = 0;
  }
  if (side === "end") kept.reverse();
  return { sections: kept };
}
