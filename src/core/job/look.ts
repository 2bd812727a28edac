// Which ticks of a job have come, and which can no longer get a run (jobs.md#the-job)?
import { durationMs } from "../../shared/duration.ts";
import { ON_TIME_MS } from "../../shared/jobs/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { askedOf, heldUntil, holding, isHeld } from "./held.ts";
import { type ExistingJob, lookingAgain, MAX_OWED, type OwedTick, versionOf } from "./record.ts";
import { dueTicks, nextLookAt } from "./schedule/due.ts";
import { nextStarts } from "./schedule/start.ts";
import { storedOf, withSkips } from "./skips/stored.ts";

/** Looks of one change of a job: so many handle the ticks of 40 days of minutes. */
const MOST_LOOKS = 30;

/**
 * Notes the ticks that have come since the latest look: each is owed a run, or is skipped. `isWoken`: the
 * alarm fires, and its tick may be held (jobs.md#held).
 */
export function foldLook(job: ExistingJob, now: Instant, isWoken = false): ExistingJob {
  return job.record.owed.length < MAX_OWED ? look(job, now, isWoken) : job;
}

/** The same, however many ticks are owed, until none has come that is not decided. */
export function foldAllLooks(job: ExistingJob, now: Instant): ExistingJob {
  let before = job;
  for (let n = 0; n < MOST_LOOKS; n += 1) {
    const after = look(before, now, false);
    if (after === before) break;
    before = after;
  }
  return before;
}

function look(job: ExistingJob, now: Instant, isWoken: boolean): ExistingJob {
  const { record, memo } = job;
  if (record.paused !== null || memo.held !== undefined) return job;
  if (memo.lookAt !== undefined && now < memo.lookAt) return job;
  const { schedule } = versionOf(job, record.version).fields;
  if (schedule === undefined) return noted(job, Infinity);
  const due = dueTicks(schedule, { since: record.since, now, job: record.name });
  const { runs, since, more } = due;
  const next = more ? now : (nextLookAt(schedule, since, now, record.name) ?? Infinity);
  if (since === record.since) return noted(job, next);
  if (isWoken && isHeld(job, due)) return decided(noted(holding(job, due), next));
  const { asked, skips } = askedOf(job, schedule, due);
  const owed = runs.map(({ tick, startAt }): OwedTick => ({ tick, startAt, version: record.version }));
  const looked = { ...job, record: { ...record, since, owed: [...record.owed, ...asked, ...owed] } };
  const stored = withSkips(
    looked,
    skips.map((skip) => storedOf(skip, now)),
  );
  return decided(noted(stored, next));
}

/** From now on the object knows of each tick whether it was held: an earlier one can have held the first. */
export function decided(job: ExistingJob): ExistingJob {
  return job.memo.hasDecided === true ? job : { ...job, memo: { ...job.memo, hasDecided: true } };
}

function noted(job: ExistingJob, lookAt: Instant): ExistingJob {
  return job.memo.lookAt === lookAt ? job : { ...job, memo: { ...job.memo, lookAt } };
}

/**
 * The job with the tick that has come, and whose start has not, as an owed one. At most one tick is like
 * that. Whatever changes then, it belongs to the version of its time (jobs.md#versions).
 */
export function foldBegun(job: ExistingJob, now: Instant): ExistingJob {
  if (job.record.paused !== null) return job;
  const looked = foldAllLooks(job, now);
  const { record } = looked;
  const { schedule } = versionOf(job, record.version).fields;
  if (schedule === undefined) return looked;
  const [next] = nextStarts(schedule, record.since, 1, record.name);
  if (next === undefined || next.tick.at > now) return looked;
  const owed = [...record.owed, { ...next, version: record.version }];
  return { ...looked, record: { ...record, since: next.tick, owed }, memo: lookingAgain(looked) };
}

/** When the next look can find something. Undefined: never, or not before something is submitted. */
export function looksAt({ record, memo: { lookAt = 0, held } }: ExistingJob): Instant | undefined {
  const waits = held !== undefined || record.owed.length >= MAX_OWED;
  return record.paused !== null || waits || lookAt === Infinity ? undefined : lookAt;
}

/** The job without this owed tick. The same job: it is not owed. */
export function withoutOwed(job: ExistingJob, sent: OwedTick): ExistingJob {
  const owed = job.record.owed.filter(({ tick }) => tick.at !== sent.tick.at);
  return owed.length === job.record.owed.length ? job : { ...job, record: { ...job.record, owed } };
}

/**
 * Until when the run of an owed tick is made: later, a missed tick would not be made up any more. It is the
 * run that says whether it was made by then, since an answer may be lost (jobs.md#not-submitted).
 */
export function givenUpAt(job: ExistingJob, { startAt, version, otherwise }: OwedTick): Instant {
  if (otherwise === "paused") return 0; // it is only asked about
  if (otherwise !== undefined) return heldUntil(startAt);
  const { schedule } = versionOf(job, version).fields;
  const catchUpMs = schedule === undefined ? 0 : durationMs(schedule.catchUp);
  return startAt + Math.max(catchUpMs, ON_TIME_MS);
}
