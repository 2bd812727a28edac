// Which jobs does the address choose? The API gives all of them, so the page looks through them itself.
import type { JobSummary } from "../../../src/generated/api.ts";

/** The choice; what is not chosen is empty. */
interface Filter {
  /** In the name, the project or the description, in whatever case. */
  text: string;
  pool: string;
}

/** The jobs that match, in their order. */
export function matching(jobs: readonly JobSummary[], { text, pool }: Filter): JobSummary[] {
  const wanted = text.toLowerCase();
  return jobs.filter(
    (job) =>
      (pool === "" || job.pool === pool) &&
      `${job.project}/${job.name} ${job.description}`.toLowerCase().includes(wanted),
  );
}
