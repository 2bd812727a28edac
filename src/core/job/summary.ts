// What does the registry know of a job, so that it can be listed without asking it (jobs.md#list)?
import type { JobSchedule } from "../../schema/job/schedule.ts";
import type { Instant } from "../../shared/machine.ts";
import type { OwedEntry } from "../audit/entry.ts";
import { type JobState, versionOf } from "./record.ts";

/** A job as the registry lists it. */
export interface ListedJob {
  name: string;
  project: string;
  pool: string;
  description: string;
  version: number;
  schedule: JobSchedule | null;
  paused: boolean;
  /** The jobs that it follows (jobs.md#following-put). Absent: none. */
  after?: string[];
  changedAt: Instant;
}

/** What a job says to the registry. */
export interface JobListing {
  name: string;
  project: string;
  /** Tells the job from an earlier one of that name. */
  createdAt: Instant;
  revision: number;
  /** Null: it is removed. */
  job: ListedJob | null;
  /** Entries of the audit log that the registry has not confirmed. */
  entries: OwedEntry[];
}

/** What the registry does not have yet. Undefined: it has everything. */
export function listingOf(state: JobState): JobListing | undefined {
  const { record } = state;
  if (record === null) return undefined;
  const { name, project, createdAt, revision, listed, removed } = record;
  const entries = record.audit?.owed ?? [];
  if (listed >= revision && entries.length === 0) return undefined;
  const job = removed === undefined ? listedOf(state, record) : null;
  return { name, project, createdAt, revision, job, entries };
}

function listedOf(state: JobState, record: NonNullable<JobState["record"]>): ListedJob {
  const { name, project, version, paused } = record;
  const { fields, at } = versionOf(state, version);
  const { description, schedule = null, spec } = fields;
  const { pool, after } = spec;
  const follows = after === undefined ? {} : { after: [...new Set(after.map(({ job }) => job))] };
  const isPaused = paused !== null;
  return { name, project, pool, description, version, schedule, paused: isPaused, ...follows, changedAt: at };
}
