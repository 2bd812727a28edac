// In which order do the runs of a job and its skipped ticks stand? As they were decided, latest first.
import type { JobSkip, RunSummary } from "../../../src/generated/api.ts";

/** A row: a run, or ticks one after the other that have no run. */
export type Row = { is: "run"; run: RunSummary; at: string } | { is: "skip"; skip: JobSkip; at: string };

/**
 * Runs by their submission and skipped ticks by their decision, at most `most`. `isAll`: the job has no
 * earlier runs. If it has, skipped ticks from before the first run that is known are left out: other runs
 * stand between them.
 */
export function merged(
  runs: readonly RunSummary[],
  skips: readonly JobSkip[],
  { isAll, most }: { isAll: boolean; most: number },
): Row[] {
  const first = runs.map(({ submittedAt }) => submittedAt).sort()[0];
  const rows: Row[] = [
    ...runs.map((run) => ({ is: "run" as const, run, at: run.submittedAt })),
    ...skips
      .filter(({ at }) => isAll || first === undefined || at >= first)
      .map((skip) => ({ is: "skip" as const, skip, at: skip.at })),
  ];
  return rows.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, most);
}
