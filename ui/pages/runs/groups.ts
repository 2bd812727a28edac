// How are runs counted by a label?
import type { RunSummary } from "../../../src/generated/api.ts";

/** The runs with one value of a label; `value` undefined: those without this label. */
export interface Group {
  value: string | undefined;
  counts: Map<string, number>;
}

/** Counts runs by the value of a label and by state, the largest group first. */
export function groupsOf(runs: readonly Pick<RunSummary, "labels" | "state">[], name: string): Group[] {
  const groups = new Map<string | undefined, Map<string, number>>();
  for (const { labels, state } of runs) {
    const value = Object.hasOwn(labels, name) ? labels[name] : undefined;
    const counts = groups.get(value) ?? new Map<string, number>();
    counts.set(state, (counts.get(state) ?? 0) + 1);
    groups.set(value, counts);
  }
  const all = [...groups].map(([value, counts]) => ({ value, counts }));
  return all.sort((a, b) => sizeOf(b) - sizeOf(a));
}

/** How many runs a group has. */
export function sizeOf({ counts }: Group): number {
  return [...counts.values()].reduce((sum, one) => sum + one, 0);
}
