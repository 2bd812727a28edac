// Which jobs exist, so that they can be listed without asking each (jobs.md#list)?
import type { Sample } from "../../schema/metrics.ts";
import { durationMs } from "../../shared/duration.ts";
import type { DroverError } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { NewEntry } from "../audit/entry.ts";
import { newEntries } from "../audit/outbox.ts";
import { isFull, keyOf, type Named, tooManyOf } from "../registry/projects.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import { nextTicks } from "./schedule/ticks.ts";
import type { SkipCounts } from "./skips/tally.ts";
import type { JobListing, ListedJob } from "./summary.ts";

/** The most jobs that there may be. */
export const MAX_JOBS = 20_000;

/** A job as its object has said it. Its object owns everything about it. */
export interface JobRow extends ListedJob {
  createdAt: Instant;
  /** That of the latest word of its object. */
  revision: number;
  /** The number of the latest entry of the audit log that came from its object; 0: none came. */
  audited: number;
  /** As it has said when it was poked. Absent: none was skipped. */
  skipped?: SkipCounts;
}

/** The word of a job about itself. */
export interface JobListed {
  type: "job_listed";
  listing: JobListing;
}

/** What stays of a removed job, so that a word of it that comes late does not list it again. */
export interface RemovedJob {
  /** Tells the job from another one of that name. */
  createdAt: Instant;
  /** As in `JobRow`. */
  audited: number;
  /** When the registry heard of it. */
  at: Instant;
}

/** The tables of jobs. `removedJobs` has the latest removed job of each name. */
export interface JobTables {
  jobs: Rows<JobRow>;
  removedJobs: Rows<RemovedJob>;
}

/** For how long a removed job is remembered. A word that comes even later is taken for that of a new job. */
export const REMOVED_KEPT_MS: Millis = 7 * 24 * 3_600_000;

/**
 * Stores what a job says of itself, and returns the entries of its audit log that are new. A word that is
 * older than the latest one, or that of an earlier or a removed job of the same name, lists nothing.
 */
export function foldJob(tables: JobTables, { listing }: JobListed, now: Instant): NewEntry[] {
  const { jobs, removedJobs } = tables;
  const { name, project, createdAt, revision, job, entries: sent } = listing;
  const key = keyOf(listing);
  const known = jobs.get(key);
  if (known !== undefined && known.createdAt > createdAt) return [];
  const before = known?.createdAt === createdAt ? known : undefined;
  const gone = before === undefined ? removedJobs.get(key) : undefined;
  // A job that was made after the removal, and within the same millisecond, is another one.
  const isGone = gone?.createdAt === createdAt && createdAt < gone.at;
  const target = { kind: "job", id: name } as const;
  const about = { target, pool: (job ?? before)?.pool ?? null, run: null, project };
  const audited = before?.audited ?? (isGone ? gone.audited : 0);
  const { entries, upTo } = newEntries(sent, audited, about);
  if (job === null || isGone) {
    if (!isGone && known !== undefined) jobs.delete(key);
    if (isGone && audited === upTo) return entries;
    removedJobs.set(key, { createdAt, audited: upTo, at: now }, now);
    removedJobs.forget(now - REMOVED_KEPT_MS);
  } else if (before === undefined || before.revision < revision || audited < upTo) {
    const latest = Math.max(revision, before?.revision ?? 0);
    const skipped = before?.skipped === undefined ? {} : { skipped: before.skipped };
    jobs.set(key, { ...skipped, ...job, createdAt, revision: latest, audited: upTo }, now);
  }
  return entries;
}

/** Why a job of this name cannot be made; null: it can, or there is one already. */
export function refusalOfNewJob(rows: ReadonlyRows<JobRow>, job: Named): DroverError | null {
  if (rows.get(keyOf(job)) !== undefined) return null;
  const live = [...rows.live()];
  if (!isFull(live, MAX_JOBS, job.project)) return null;
  return tooManyOf(["jobs", "remove those that are not used any more"], MAX_JOBS, job.project);
}

/** The jobs of a project (null: of all), by name. */
export function jobsOf(rows: ReadonlyRows<JobRow>, project: string | null): JobRow[] {
  return [...rows.live()]
    .filter((row) => project === null || row.project === project)
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** So far apart are the pokes. */
const POKED_EACH_MS: Millis = 3_600_000;
/** For how long a poke counts on a job that still tries to submit a run, at most. */
const LONGEST_TRY_MS: Millis = 24 * POKED_EACH_MS;

/**
 * The jobs that a poke wakes: all, if the clock was set; else those that may have had something to do since
 * the poke before: the start of a tick, which `jitter` delays, or a submission, which is tried for as long as
 * `catchUp`. An alarm that the platform gave up would keep such a job asleep, and nobody else repeats what it
 * owes (jobs.md#list).
 */
export function jobsToPoke(rows: readonly JobRow[], all: boolean, now: Instant): JobRow[] {
  const hadTick = ({ schedule, paused }: JobRow) => {
    if (schedule === null || paused) return false;
    const triedMs = Math.min(durationMs(schedule.catchUp), LONGEST_TRY_MS);
    const backMs = 2 * POKED_EACH_MS + durationMs(schedule.jitter) + triedMs;
    const [tick] = nextTicks(schedule, { at: now - backMs }, 1);
    return tick !== undefined && tick.at <= now;
  };
  return rows.filter((row) => all || hadTick(row));
}

/**
 * How many jobs a project (null: each) has, by what they wait for: a tick of their schedule, somebody who
 * triggers them, or the end of a pause (jobs.md#metrics). No job is asked.
 */
export function jobCounts(rows: ReadonlyRows<JobRow>, project: string | null): Sample[] {
  const counts = new Map<string, number>();
  for (const row of jobsOf(rows, project)) {
    for (const state of JOB_STATES) {
      const key = `${row.project} ${state}`;
      counts.set(key, (counts.get(key) ?? 0) + (stateOf(row) === state ? 1 : 0));
    }
  }
  return [...counts].map(([key, value]) => {
    const [of = "", state = ""] = key.split(" ");
    return { name: "drover_jobs", labels: { project: of, state }, value };
  });
}

const JOB_STATES = ["scheduled", "triggered", "paused"] as const;

function stateOf({ paused, schedule }: JobRow): (typeof JOB_STATES)[number] {
  if (paused) return "paused";
  return schedule === null ? "triggered" : "scheduled";
}
