// Why were some of many runs refused? By reason, so that a thousand refusals are a few lines.
import type { Progress } from "./each.ts";

/** Runs that were refused for the same reason. */
export interface Refusal {
  /** In words. Where it names the run, it has an ellipsis. */
  reason: string;
  /** In the order in which they were refused. */
  ids: readonly string[];
}

/** The refusals by reason, the most frequent reason first. */
export function refusalsOf(failed: Progress["failed"], reasonOf: (error: unknown) => string): Refusal[] {
  const reasons = Map.groupBy(failed, ({ id, error }) => reasonOf(error).replaceAll(id, "…"));
  return [...reasons]
    .map(([reason, of]) => ({ reason, ids: of.map(({ id }) => id) }))
    .sort((one, other) => other.ids.length - one.ids.length);
}
