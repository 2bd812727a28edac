// How many ticks of a job got no run, as the job itself counts them?
import type { JobSkipReason } from "../../../schema/job/job.ts";

/** Skipped ticks since the job was made. A reason that is absent has none. */
export type SkipCounts = Partial<Record<JobSkipReason, number>>;

/** The counts with these stretches of ticks added (jobs.md#skip-counts). */
export function withCounts(
  skips: readonly { reason: JobSkipReason; count: number }[],
  before: SkipCounts = {},
): SkipCounts {
  const counts = { ...before };
  for (const { reason, count } of skips) counts[reason] = (counts[reason] ?? 0) + count;
  return counts;
}
