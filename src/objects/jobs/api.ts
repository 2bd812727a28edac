// Which calls can the edge make to a job?
import type { Via } from "../../core/audit/via.ts";
import type { Given } from "../../core/job/run-of-job.ts";
import type { JobSkipped } from "../../core/job/skips/counts.ts";
import type { Put } from "../../core/job/versions.ts";
import type { Budget } from "../../core/messages.ts";
import type { Named } from "../../core/registry/projects.ts";
import type { Job, JobTick, JobVersion, Previewed } from "../../schema/job/job.ts";
import type { RedrivenList } from "../../schema/job/redrive.ts";
import type { RunStatus } from "../../schema/run/run.ts";
import type { FollowQuestion, ToFollow } from "../../shared/jobs/to-follow.ts";
import type { Instant } from "../../shared/machine.ts";

/** A job, and whether the call has made it. */
export interface PutAnswer {
  created: boolean;
  job: Job;
}

/** A run to be made by hand (jobs.md#trigger). */
export interface TriggerJob {
  given: Given;
  /** Part of the run's id; or the tick that is to run. */
  run: { key: string } | { tick: Instant };
  priority: number | undefined;
  by: string;
  /** Null: that of the job's author. */
  budget: Budget | null;
}

/** A run that was made, or was there already. */
export interface Triggered {
  created: boolean;
  status: RunStatus;
}

/** Parked runs that are to run again (jobs.md#redrive). */
export interface RedriveJob {
  /** Their full ids. */
  runs: readonly string[];
  /** The highest priority that the caller may ask for (access.md#limits). Absent: any. */
  maxPriority?: number | undefined;
  by: string;
  /** Null: that of the job's author. */
  budget: Budget | null;
}

/** The methods of a job for the edge. All but `put` and `preview` throw `unknown_job` if there is none. */
export interface JobApi {
  /** Stores the job, and answers once it is listed. Codes: `invalid_request`, `not_acknowledged`. */
  put(request: Put, via?: Via): Promise<PutAnswer>;
  read(): Promise<Job>;
  /** The next ticks of the schedule after an instant (null: now); none without a schedule. */
  ticks(count: number, after: Instant | null): Promise<JobTick[]>;
  /** The next ticks of a schedule that need not be stored. Throws `invalid_request`, as `put` does. */
  preview(named: Named, shown: Previewed, count: number): Promise<JobTick[]>;
  /** The versions that are kept, newest first. */
  versions(): Promise<JobVersion[]>;
  /** Answers once the job is not listed any more. Codes: `not_acknowledged`. */
  remove(by: string, via?: Via): Promise<void>;
  pause(by: string, via?: Via): Promise<Job>;
  /** `makeUp`: the ticks of the pause count as missed. */
  resume(makeUp: boolean, by: string, via?: Via): Promise<Job>;
  /**
   * Submits a run of the present version, and answers once it is queued. Codes: those of a submission, and
   * `invalid_request` for values that the job does not take, or a tick that its schedule does not have.
   */
  trigger(request: TriggerJob, via?: Via): Promise<Triggered>;
  /** Which run of this job a run follows that names the job (jobs.md#following). */
  runToFollow(question: FollowQuestion): Promise<ToFollow>;
  /**
   * Has parked runs of this job run again, each once. What is refused stands in the answer: `unknown_run` for
   * a run of something else, `not_parked`, and the codes of a submission.
   */
  redrive(request: RedriveJob, via?: Via): Promise<Pick<RedrivenList, "items" | "failed">>;
  /**
   * Looks at the clock: whatever is asked of an object repairs it. Says how many ticks were skipped; null:
   * none.
   */
  poke(): Promise<JobSkipped | null>;
}
