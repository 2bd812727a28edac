// Which groups does a document have, and which of them are open (ui.md#groups)?
import type { LogDocument } from "../bytes/document.ts";
import { rowBytes, rowCount } from "../bytes/window.ts";
import { type Mark, markersOf } from "./markers.ts";

/** A group: the row of its marker, and the rows that can be folded. */
export interface Group {
  /** `attempt/offset of the marker`: the same for ever, and the key of its row. */
  id: string;
  attempt: string;
  /** The row of the marker in the document. Rows `row + 1` up to `to` are in the group. */
  row: number;
  to: number;
  /** Its bytes, from the marker on. */
  bytes: { from: number; to: number };
  mark: Exclude<Mark, "end">;
  isLast: boolean;
}

/** The groups in memory, in their order. A group ends at the next marker, or with its attempt. */
export function groupsOf({ sections }: LogDocument): Group[] {
  const groups: Group[] = [];
  let before = 0;
  for (const [index, { attempt, window }] of sections.entries()) {
    if (index > 0) before += 1;
    const markers = markersOf(window);
    const rows = rowCount(window);
    for (const [place, { row, at, mark }] of markers.entries()) {
      if (mark === "end") continue;
      const next = markers[place + 1];
      const end = next === undefined ? rows : next.row + (next.mark === "end" ? 1 : 0);
      const bytes = { from: at, to: rowBytes(window, end - 1).to };
      const group = { attempt, mark, bytes, row: before + row, to: before + end };
      groups.push({ ...group, id: `${attempt}/${at}`, isLast: false });
    }
    before += rows;
  }
  const last = groups.at(-1);
  return last === undefined ? [] : [...groups.slice(0, -1), { ...last, isLast: true }];
}

/** What decides whether a group is open. */
export interface Folds {
  groups: readonly Group[];
  /** The ids of the groups that are open. */
  open: ReadonlySet<string>;
  /** The bytes of each attempt that were in memory. */
  known: ReadonlyMap<string, { from: number; to: number }>;
}

export const NO_FOLDS: Folds = { groups: [], open: new Set(), known: new Map() };

/** What the reader does, and what the run is. */
export interface FoldRules {
  /** What the reader has chosen for groups, by their ids: it stays. */
  choices: ReadonlyMap<string, boolean>;
  /** The end is in view, whatever comes. */
  isFollowing: boolean;
  /** The last group is open: the run has failed, or went on when the view was opened. */
  opensLast: boolean;
}

/**
 * Which groups are open once a document has changed. While the reader follows, groups are as they are at
 * first.
 * A reader who does not follow has nothing moved (ui.md#d2): groups stay as they are, and one that becomes
 * known around rows that were there is open.
 */
export function foldsAfter(before: Folds, document: LogDocument, rules: FoldRules): Folds {
  const groups = groupsOf(document);
  const known = new Map(before.groups.map(({ id }) => [id, before.open.has(id)]));
  const isOpen = (group: Group): boolean => {
    const chosen = rules.choices.get(group.id);
    if (chosen !== undefined) return chosen;
    if (!rules.isFollowing) {
      const now = known.get(group.id);
      if (now !== undefined) return now;
      const shown = before.known.get(group.attempt);
      if (shown !== undefined && group.bytes.from < shown.to && group.bytes.to > shown.from) return true;
    }
    return group.mark === "open" || (group.isLast && rules.opensLast);
  };
  return {
    groups,
    open: new Set(groups.filter(isOpen).map(({ id }) => id)),
    known: new Map(document.sections.map(({ attempt, window: { from, to } }) => [attempt, { from, to }])),
  };
}
