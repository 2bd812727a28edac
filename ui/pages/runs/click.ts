// What does a click on a row do to the selection?

/** What is selected: runs by id, or all runs that match the filter. */
export type Selection = { is: "ids"; ids: readonly string[] } | { is: "all" };

/** Whether a run is selected. */
export function isSelected(selection: Selection, id: string): boolean {
  return selection.is === "all" || selection.ids.includes(id);
}

/** The selection after a click on the box above the rows: all that are shown, or none of them. */
export function afterAll(selection: Selection, shown: readonly string[]): Selection {
  if (selection.is === "all") return { is: "ids", ids: [] };
  const others = selection.ids.filter((id) => !shown.includes(id));
  const areAll = shown.every((id) => selection.ids.includes(id));
  return { is: "ids", ids: areAll ? others : [...others, ...shown] };
}

/**
 * The selection after a click on the run `id`. `shown`: the ids in their order. A click with Shift does
 * with all runs from `anchor`, the one that was clicked before, what it does with this one.
 */
export function afterClick(
  selection: Selection,
  { shown, id, anchor }: { shown: readonly string[]; id: string; anchor: string | undefined },
): Selection {
  const before = selection.is === "all" ? shown : selection.ids;
  const [from, to] = [shown.indexOf(anchor ?? id), shown.indexOf(id)].sort((a, b) => a - b);
  const clicked = from === undefined || from < 0 ? [id] : shown.slice(from, (to ?? from) + 1);
  const others = before.filter((one) => !clicked.includes(one));
  return { is: "ids", ids: before.includes(id) ? others : [...others, ...clicked] };
}
