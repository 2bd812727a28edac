// What do people see of a job (jobs.md#the-job)?

import type { Job, JobSkip, JobSummary, JobTick, JobVersion } from "../../schema/job/job.ts";
import type { JobSchedule } from "../../schema/job/schedule.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import { waitOf } from "./followed/waiting.ts";
import { tickRunId } from "./ids.ts";
import type { JobRow } from "./listed.ts";
import { type ExistingJob, type JobRecord, type StoredSkip, type VersionRow, versionOf } from "./record.ts";
import { nextStarts, type StartingTick } from "./schedule/start.ts";
import type { Since } from "./schedule/ticks.ts";

/** How many of its next ticks a job shows. */
export const SHOWN_TICKS = 10;

/** A job by its name, wherever its ticks are shown. */
interface NamedJob {
  name: string;
  project: string;
}

/** The job with its present version. */
export function jobView(job: ExistingJob, now: Instant): Job {
  const { name, project, version, paused, createdAt, createdBy, owed, skips } = job.record;
  const { fields, at, by } = versionOf(job, version);
  const { schedule } = fields;
  const shows = schedule !== undefined && paused === null;
  return {
    name,
    project,
    pool: fields.spec.pool,
    version,
    ...fields,
    paused: paused && { at: iso(paused.at), by: paused.by },
    createdAt: iso(createdAt),
    createdBy,
    changedAt: iso(at),
    changedBy: by,
    next: shows ? ticksAfter(job.record, schedule, comingFrom(job.record, now), SHOWN_TICKS) : [],
    waiting: owed.map((one) => {
      const text = waitOf(job, one)?.text;
      return { ...tickView(job.record, one), ...(text === undefined ? {} : { text }) };
    }),
    skips: skips.map(skipView).reverse(),
  };
}

/**
 * From where on the ticks of a job are to come. After a look these are those that are not handled: the start
 * of one may be later than its tick. Those of a pause do not start.
 */
export function comingFrom({ since, paused }: JobRecord, now: Instant): Since {
  return paused === null || since.at > now ? since : { at: now };
}

/** The next ticks of a schedule, as everybody is shown them (jobs.md#tick-3). */
export function ticksAfter(job: NamedJob, schedule: JobSchedule, since: Since, count: number): JobTick[] {
  return nextStarts(schedule, since, count, job.name).map((one) => tickView(job, one));
}

function tickView({ project, name }: NamedJob, { tick, startAt }: StartingTick): JobTick {
  const { at, local } = tick;
  return { at: iso(at), local, startAt: iso(startAt), run: tickRunId(project, name, at) };
}

function skipView({ from, to, at, ...skip }: StoredSkip): JobSkip {
  return { ...skip, from: iso(from), to: iso(to), at: iso(at) };
}

/** A version, and who made it. */
export function versionView({ version, at, by, fields }: VersionRow): JobVersion {
  return { version, at: iso(at), by, ...fields };
}

/** A job in the list. */
export function jobSummary(row: JobRow, now: Instant): JobSummary {
  const { name, project, pool, description, version, schedule, paused, changedAt } = row;
  const next = paused ? null : nextOf(row, now);
  return { name, project, pool, description, version, schedule, paused, next, changedAt: iso(changedAt) };
}

/** By row, which never changes: its next tick, as found at an instant. Lists come more often than ticks. */
const found = new WeakMap<JobRow, { at: Instant; next: JobTick | null }>();

function nextOf(row: JobRow, now: Instant): JobTick | null {
  if (row.schedule === null) return null;
  const known = found.get(row);
  const isComing = known?.next === null || Date.parse(known?.next.at ?? "") > now;
  if (known !== undefined && known.at <= now && isComing) return known.next;
  const [next = null] = ticksAfter(row, row.schedule, { at: now }, 1);
  found.set(row, { at: now, next });
  return next;
}
