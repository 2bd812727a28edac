// Which failed runs take room because their machines keep them (tasks.md#kept)?
import type { WorkerSummary } from "../../../schema/pool.ts";
import { iso } from "../../../shared/time/instant.ts";
import { isKept, type RunRow, type WorkerRow } from "../record.ts";
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

/** What a machine keeps, for lists of workers. Absent: nothing. */
export function keptField(
  { memo }: ReadonlyConfigured,
  { worker }: Pick<WorkerRow, "worker">,
): Pick<WorkerSummary, "kept"> {
  const rows = [...(memo.index.placed.get(worker)?.values() ?? [])].filter(isKept);
  const kept = rows.map(({ run, keptUntil }) => ({ run, until: iso(keptUntil ?? 0) }));
  return kept.length === 0 ? {} : { kept };
}

function keptRuns(rows: readonly RunRow[]): RunRow[] {
  return rows.filter(isKept);
}
