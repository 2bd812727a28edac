// What does the registry answer to calls about jobs (jobs.md#list)? `core/registry` decides.

import { refusalOfAfter, refuseFollowed } from "../../core/job/followed/circle.ts";
import { type JobRow, jobCounts, jobsOf, jobsToPoke, refusalOfNewJob } from "../../core/job/listed.ts";
import { jobSummary } from "../../core/job/read.ts";
import { type JobSkipped, newCounts, skipSamples } from "../../core/job/skips/counts.ts";
import type { JobListing } from "../../core/job/summary.ts";
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import type { Named } from "../../core/registry/projects.ts";
import { arePokedAt } from "../../core/registry/webhooks.ts";
import type { JobSummary } from "../../schema/job/job.ts";
import type { Sample } from "../../schema/metrics.ts";
import type { Instant } from "../../shared/machine.ts";

/**
 * How many jobs are listed or poked in one turn of the registry. To find when a job has its tick takes up to
 * half a millisecond, and to wake its object may load it.
 */
const JOBS_A_TURN = 100;

/** The registry as these calls use it: `enter` applies an event, and returns the new state. */
interface Entered {
  enter(event?: RegistryEvent): Pick<RegistryState, "jobs">;
  now(): Instant;
}

/** The calls of `RegistryApi` about jobs. */
export class JobCalls {
  readonly #registry: Entered;

  constructor(registry: Entered) {
    this.#registry = registry;
  }

  /**
   * Throws `busy` if there are as many jobs as there may be, and this one is not among them, and what
   * `refusalOfAfter` says of the jobs that it is to follow.
   */
  admit(job: Named, after: readonly string[]): void {
    const { jobs } = this.#registry.enter();
    const refusal = refusalOfNewJob(jobs, job) ?? refusalOfAfter(jobs, job, after);
    if (refusal !== null) throw refusal;
  }

  /** Throws `job_in_use` if other jobs follow this one. */
  refuseFollowed(job: Named): void {
    refuseFollowed(this.#registry.enter().jobs, job);
  }

  note(listing: JobListing): void {
    this.#registry.enter({ type: "job_listed", listing });
  }

  /**
   * Pokes jobs by `poke`, a few at a time, if it is time, and stores what they say of skipped ticks. `all`:
   * the clock was set.
   */
  async poke(all: boolean, poke: (job: Named) => Promise<JobSkipped | null>): Promise<void> {
    const now = this.#registry.now();
    if (!all && !arePokedAt(now)) return;
    for await (const jobs of inTurns(jobsOf(this.#registry.enter().jobs, null))) {
      const words = await Promise.allSettled(jobsToPoke(jobs, all, now).map(poke));
      this.#heard(words.flatMap((word) => (word.status === "fulfilled" ? (word.value ?? []) : [])));
    }
  }

  #heard(jobs: JobSkipped[]): void {
    if (newCounts(this.#registry.enter().jobs, jobs).length > 0)
      this.#registry.enter({ type: "jobs_skipped", jobs });
  }

  async list(project: string | null): Promise<JobSummary[]> {
    const now = this.#registry.now();
    const list: JobSummary[] = [];
    for await (const jobs of inTurns(jobsOf(this.#registry.enter().jobs, project))) {
      list.push(...jobs.map((row) => jobSummary(row, now)));
    }
    return list;
  }

  counts(project: string | null): Sample[] {
    const { jobs } = this.#registry.enter();
    return [...jobCounts(jobs, project), ...skipSamples(jobs, project)];
  }
}

/** A few jobs at a time. Between them, other calls of the registry get their turn. */
async function* inTurns(jobs: readonly JobRow[]): AsyncGenerator<JobRow[]> {
  for (let from = 0; from < jobs.length; from += JOBS_A_TURN) {
    if (from > 0) await new Promise((resolve) => setTimeout(resolve, 0));
    yield jobs.slice(from, from + JOBS_A_TURN);
  }
}
