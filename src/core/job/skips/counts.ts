// What does the registry know of ticks that got no run (jobs.md#skip-counts)?
import type { JobSkipReason } from "../../../schema/job/job.ts";
import type { Sample } from "../../../schema/metrics.ts";
import type { Instant } from "../../../shared/machine.ts";
import { keyOf, type Named } from "../../registry/projects.ts";
import type { ReadonlyRows, Rows } from "../../rows.ts";
import type { JobRow } from "../listed.ts";
import type { JobRecord } from "../record.ts";
import type { SkipCounts } from "./tally.ts";

/** What a job says of its counts when it is poked. */
export interface JobSkipped extends Named {
  /** Tells the job from an earlier one of that name. */
  createdAt: Instant;
  skipped: SkipCounts;
}

/** The registry has heard counts from jobs that it has poked. */
export interface JobsSkipped {
  type: "jobs_skipped";
  jobs: JobSkipped[];
}

/** What this job says of its counts. Undefined: nothing of it was ever skipped. */
export function skippedOf({ name, project, createdAt, skipped }: JobRecord): JobSkipped | undefined {
  return skipped === undefined ? undefined : { name, project, createdAt, skipped };
}

/** Which of these words differ from what the registry has. Those of removed jobs do not count. */
export function newCounts(rows: ReadonlyRows<JobRow>, jobs: readonly JobSkipped[]): JobSkipped[] {
  return jobs.filter((job) => {
    const row = rows.get(keyOf(job));
    if (row === undefined || row.createdAt !== job.createdAt) return false;
    const known = row.skipped ?? {};
    // Words may come late: counts only grow.
    return entriesOf(job.skipped).some(([reason, count]) => count > (known[reason] ?? 0));
  });
}

/** Stores the counts that are new: a row for each job of which ticks were skipped since its latest word. */
export function foldSkipped(rows: Rows<JobRow>, { jobs }: JobsSkipped, now: Instant): void {
  for (const job of newCounts(rows, jobs)) {
    const row = rows.get(keyOf(job));
    if (row !== undefined) rows.set(keyOf(job), { ...row, skipped: job.skipped }, now);
  }
}

/** The counter of a project's jobs (null: of all). A job without skipped ticks has no series. */
export function skipSamples(rows: ReadonlyRows<JobRow>, project: string | null): Sample[] {
  return [...rows.live()]
    .filter((row) => project === null || row.project === project)
    .flatMap(({ name: job, project: of, skipped = {} }) =>
      entriesOf(skipped).map(([reason, value]): Sample => {
        return { name: "drover_job_skipped_total", labels: { project: of, job, reason }, value };
      }),
    );
}

function entriesOf(counts: SkipCounts): [JobSkipReason, number][] {
  // Keys of this type are reasons, and a key that is there has a number.
  return Object.entries(counts) as [JobSkipReason, number][];
}
