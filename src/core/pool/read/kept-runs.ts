// Which failed runs take room because their machines keep them (tasks.md#kept)?
import { isKept, type RunRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";

/** The most kept runs that are named to a run that waits. */
const MAX_NAMED = 3;

/** Says to a run that waits for room which runs of its project are only kept, and how to let them go. */
export function keptRunsText({ runs }: ReadonlyConfigured, { project }: RunRow): string {
  const kept = runs.derive(keptRuns).filter((row) => row.project === project);
  if (kept.length === 0) return "";
  const named = kept.slice(0, MAX_NAMED).map(({ run }) => run);
  const more = kept.length > MAX_NAMED ? ` and ${kept.length - MAX_NAMED} more` : "";
  const all = `${named.join(", ")}${more}`;
  return `; failed runs are kept on their machines, and take room: ${all} (\`drover release\` ends that)`;
}

function keptRuns(rows: readonly RunRow[]): RunRow[] {
  return rows.filter(isKept);
}
