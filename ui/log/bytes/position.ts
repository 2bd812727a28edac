// Which part of a document is in view, in words that survive when rows are added on either side?
import { type Anchor, type Extent, endAnchor } from "../scroll.ts";
import { type BytePlace, documentRows, type LogDocument, placeOf, rowAtPlace } from "./document.ts";

/**
 * The end, whatever comes; or a row, where its part above a point stands at a distance from the upper edge.
 */
export type Position = { is: "end" } | { is: "at"; place: BytePlace; part: number; y: number };

/** The anchor of a position in this document. */
export function anchorOf(document: LogDocument, position: Position, extent: Extent): Anchor {
  if (position.is === "end") return endAnchor(extent);
  return { row: rowAtPlace(document, position.place) + position.part, y: position.y };
}

/** The position of an anchor, which stays on its text when other text comes (ui.md#d2). */
export function positionOf(document: LogDocument, { row, y }: Anchor): Position {
  const last = documentRows(document) - 1;
  const whole = Math.min(Math.max(0, last), Math.floor(row));
  const place = placeOf(document, whole);
  return place === undefined ? { is: "end" } : { is: "at", place, part: row - whole, y };
}

/** How many rows come after a place. */
export function rowsAfter(document: LogDocument, place: BytePlace): number {
  return Math.max(0, documentRows(document) - 1 - rowAtPlace(document, place));
}
