// What does a job store, and what may a restart of its object lose (jobs.md#state)?
import type { JobFields, JobSkipReason } from "../../schema/job/job.ts";
import type { Instant } from "../../shared/machine.ts";
import type { Outbox } from "../audit/outbox.ts";
import type { Budget } from "../messages.ts";
import type { Rows } from "../rows.ts";
import type { SkipReason } from "./schedule/due.ts";
import type { Since, Tick } from "./schedule/ticks.ts";
import type { SkipCounts } from "./skips/tally.ts";

/** How many versions of a job are kept, besides those of ticks whose runs are not submitted yet. */
export const MAX_VERSIONS = 50;
/** How many ticks are owed at most: while so many wait, later ones are not looked at. */
export const MAX_OWED = 500;
/** How many stretches of skipped ticks are kept. */
export const MAX_SKIPS = 200;

/** What one version says, and who made it. */
export interface VersionRow {
  version: number;
  fields: JobFields;
  at: Instant;
  by: string;
  /** The budget from which its scheduled runs are paid; null: none. */
  budget: Budget | null;
}

/** A tick that has come, and whose run is not submitted for certain. */
export interface OwedTick {
  tick: Tick;
  startAt: Instant;
  /** That of the job when the tick came (jobs.md#versions). */
  version: number;
  /** It gets no run, for this reason, unless one was made in time. Absent: it gets one (jobs.md#held-2). */
  otherwise?: SkipReason;
}

/** The tick of the alarm that fires now, whose run is submitted before anything is stored (jobs.md#held). */
export interface HeldTick {
  owed: OwedTick;
  /** Up to where ticks are handled once its run has answered. */
  since: Since;
}

/** Ticks one after the other without a run. */
export interface StoredSkip {
  from: Instant;
  to: Instant;
  count: number;
  reason: JobSkipReason;
  text: string;
  at: Instant;
}

/** Everything about a job that must survive a restart of its object, but its versions. */
export interface JobRecord {
  name: string;
  project: string;
  createdAt: Instant;
  createdBy: string;
  version: number;
  /** Up to where the ticks are handled (jobs.md#ticks). */
  since: Since;
  /** Oldest first. */
  owed: OwedTick[];
  paused: { at: Instant; by: string } | null;
  /** Newest last. */
  skips: StoredSkip[];
  /** How many ticks were skipped since the job was made. Absent: none. */
  skipped?: SkipCounts;
  /** Grows with every change that the registry lists; `listed`: what the registry has confirmed. */
  revision: number;
  listed: number;
  /** Who removes the job. Absent: it stays. */
  removed?: { at: Instant; by: string };
  /** Entries of the audit log for the registry. Absent: nobody has asked anything of it. */
  audit?: Outbox | undefined;
}

/** Why a tick waits, and when its job asks again. A restart forgets it, and asks at once. */
export interface TickWait {
  text: string;
  askAt: Instant;
}

/** A job as `apply` consumes it. Its table changes in place. */
export interface JobState {
  record: JobRecord | null;
  /** By version. */
  versions: Rows<VersionRow>;
  memo: {
    /** When a look at the ticks can find something. Absent: now. */
    lookAt?: Instant | undefined;
    held?: HeldTick | undefined;
    /** This object has decided about a tick since it was loaded, or has made the job. Absent: it has not. */
    hasDecided?: true;
    /** By tick: what its run waits for. Absent: nothing. */
    waits?: Record<number, TickWait> | undefined;
  };
}

/** A job that exists. */
export type ExistingJob = JobState & { record: JobRecord };

/** The key of a version's row: keys sort by version. */
export function versionKey(version: number): string {
  return String(version).padStart(9, "0");
}

/** What a version of a job says. Throws if it is not kept any more. */
export function versionOf({ versions }: Pick<JobState, "versions">, version: number): VersionRow {
  const row = versions.get(versionKey(version));
  if (row === undefined) throw new Error(`version ${version} of the job is gone`);
  return row;
}

/** The job with these changes, which its list shows. */
export function changed(job: ExistingJob, change: Partial<JobRecord>): ExistingJob {
  const revision = job.record.revision + 1;
  return { ...job, record: { ...job.record, ...change, revision }, memo: lookingAgain(job) };
}

/** The job, unless it does not exist or is being removed. */
export function jobOf(state: JobState): ExistingJob | undefined {
  const { record } = state;
  return record === null || record.removed !== undefined ? undefined : { ...state, record };
}

/** What a job remembers after a change: it looks at the clock again. */
export function lookingAgain({ memo }: Pick<JobState, "memo">): JobState["memo"] {
  return { lookAt: 0, ...(memo.hasDecided === true ? { hasDecided: true } : {}) };
}
