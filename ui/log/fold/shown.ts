// Which rows of a document are shown when groups are folded, and which number has each of them then?
import { countOf } from "../bytes/sorted.ts";
import type { Folds } from "./groups.ts";

/** Rows of a document without those that are folded. */
export interface ShownRows {
  /** How many are shown. */
  count: number;
  /** The rows that are hidden, in their order: `from` up to `to`; `before`: how many are hidden above. */
  hidden: readonly { from: number; to: number; before: number }[];
}

/** The shown rows of a document of so many rows. */
export function shownOf(rows: number, { groups, open }: Folds): ShownRows {
  const hidden: { from: number; to: number; before: number }[] = [];
  let before = 0;
  for (const { id, row, to } of groups) {
    if (open.has(id) || to <= row + 1) continue;
    hidden.push({ from: row + 1, to, before });
    before += to - row - 1;
  }
  return { count: rows - before, hidden };
}

/** The shown row of a place in the document, with its fraction. A folded place is at its marker. */
export function toShown({ hidden }: ShownRows, row: number): number {
  const last = hidden[countOf(hidden, ({ from }) => from <= row) - 1];
  if (last === undefined) return row;
  return row < last.to ? last.from - 1 - last.before : row - last.before - (last.to - last.from);
}

/** The place in the document of a shown row, with its fraction. */
export function toDocument({ hidden }: ShownRows, row: number): number {
  const last = hidden[countOf(hidden, ({ from, before }) => from - before <= row) - 1];
  return last === undefined ? row : row + last.before + (last.to - last.from);
}

/** The rows of the document that are shown as rows `from` up to `to`, in stretches without a gap. */
export function stretchesOf(shown: ShownRows, { from, to }: { from: number; to: number }) {
  const stretches: { from: number; to: number }[] = [];
  for (let row = from; row < to; row++) {
    const place = toDocument(shown, row);
    const last = stretches.at(-1);
    if (last?.to === place) last.to += 1;
    else stretches.push({ from: place, to: place + 1 });
  }
  return stretches;
}
