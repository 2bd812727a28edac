// May the run of a tick be submitted before the tick is stored, and what if that was interrupted?
import type { JobSchedule } from "../../schema/job/schedule.ts";
import { ON_TIME_MS } from "../../shared/jobs/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { type ExistingJob, type JobState, jobOf, type OwedTick } from "./record.ts";
import type { Due, TickSkip } from "./schedule/due.ts";
import { nextStarts } from "./schedule/start.ts";
import type { Tick } from "./schedule/ticks.ts";

/** Until when the run of a held tick is made: a later look may skip the tick (jobs.md#held-2). */
export function heldUntil(startAt: Instant): Instant {
  return startAt + ON_TIME_MS;
}

/**
 * Whether what a look has found is one tick that is on time, and nothing else. Its run is then submitted
 * while the alarm fires, and the tick is stored once, with the answer (jobs.md#held-1).
 */
export function isHeld({ record }: ExistingJob, { runs, skips, more }: Due): boolean {
  const [run] = runs;
  const isAlone = runs.length === 1 && skips.length === 0 && record.owed.length === 0 && !more;
  return isAlone && run?.cause === "on-time";
}

/** The job with this tick held: nothing is stored. */
export function holding(job: ExistingJob, { runs, since }: Due): ExistingJob {
  const [run] = runs;
  if (run === undefined) return job;
  const owed: OwedTick = { tick: run.tick, startAt: run.startAt, version: job.record.version };
  return { ...job, memo: { ...job.memo, held: { owed, since } } };
}

/** The job with what it holds stored as owed: something else happens before there is an answer. */
export function withHeldOwed(state: JobState): JobState {
  const job = jobOf(state);
  return job === undefined ? state : heldAsOwed(job);
}

/** The same of a job that exists. */
export function heldAsOwed(job: ExistingJob): ExistingJob {
  const { record, memo } = job;
  const { held } = memo;
  if (held === undefined) return job;
  const owed = [...record.owed, held.owed];
  return { ...job, record: { ...record, since: held.since, owed }, memo: { ...memo, held: undefined } };
}

/** The job with this tick handled, if it is the held one. Undefined: another one is held, or none. */
export function settledHeld(job: ExistingJob, sent: OwedTick): ExistingJob | undefined {
  const { held } = job.memo;
  if (held === undefined || held.owed.tick.at !== sent.tick.at) return undefined;
  return { ...job, record: { ...job.record, since: held.since }, memo: { ...job.memo, held: undefined } };
}

/**
 * Of ticks that a look or a pause skips, the first one may have been held when the object died, and its run
 * may be there. So that one is asked about, and skipped only if there is none (jobs.md#held-2).
 */
export function askedOf(
  { record, memo }: ExistingJob,
  schedule: JobSchedule,
  { runs, skips }: Pick<Due, "runs" | "skips">,
): { asked: OwedTick[]; skips: TickSkip[] } {
  const [first, ...others] = skips;
  const [run] = runs;
  // An object that has decided about a tick knows what it has held. A mere look may have been too early: the
  // clock may have gone back since the tick was held.
  if (memo.hasDecided === true) return { asked: [], skips };
  if (first === undefined || (run !== undefined && run.tick.at < first.from.at)) return { asked: [], skips };
  const [start, following] = nextStarts(schedule, record.since, 2, record.name);
  if (start?.tick.at !== first.from.at) return { asked: [], skips };
  const asked: OwedTick = { ...start, version: record.version, otherwise: first.reason };
  const rest = following === undefined || first.count < 2 ? [] : [restOf(first, following.tick)];
  return { asked: [asked], skips: [...rest, ...others] };
}

function restOf(skip: TickSkip, from: Tick): TickSkip {
  return { ...skip, from, count: skip.count - 1 };
}
