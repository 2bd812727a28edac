// By which labels and variables is it known of which job a run is (jobs.md#labels)?

/** The labels of a run that its job has made: the name of the job, the version, and the tick if any. */
export const JOB_LABELS = { job: "drover.job", version: "drover.job-version", tick: "drover.tick" } as const;

/** The variables of such a run that say the same to its commands. */
export const JOB_VARIABLES = {
  job: "DROVER_JOB",
  version: "DROVER_JOB_VERSION",
  tick: "DROVER_SCHEDULED_AT",
} as const;

/** The concurrency key that `overlap` of a job gives the runs of its ticks (jobs.md#overlap). */
export function overlapKey(job: string): string {
  return `job:${job}`;
}
