// What becomes of the ticks of a pause (jobs.md#paused)?
import type { Instant, Millis } from "../../shared/machine.ts";
import { askedOf } from "./held.ts";
import { decided } from "./look.ts";
import { changed, type ExistingJob, type OwedTick, type StoredSkip, versionOf } from "./record.ts";
import { dueTicks } from "./schedule/due.ts";
import { storedOf, withSkips } from "./skips/stored.ts";

/** How many looks count the skipped ticks of a pause, and then those of its last day: a week of minutes. */
const COUNTED_LOOKS = 5;
const DAY_MS: Millis = 86_400_000;

/** Begins a pause: from now on ticks are skipped. A job that is paused stays as it is. */
export function beginPause(job: ExistingJob, by: string, now: Instant): ExistingJob {
  return job.record.paused === null ? changed(job, { paused: { at: now, by } }) : job;
}

/** Ends a pause. `makeUp`: its ticks count as missed; otherwise they are skipped. */
export function endPause(job: ExistingJob, makeUp: boolean, now: Instant): ExistingJob {
  if (job.record.paused === null) return job;
  return changed(makeUp ? job : skipPaused(job, now), { paused: null });
}

/**
 * The job with the ticks of its pause up to `now` skipped. A tick whose start is still to come is not: its
 * time is the start. `all`: that tick too, since there will be none of its schedule any more.
 */
export function skipPaused(job: ExistingJob, now: Instant, all = false): ExistingJob {
  const { record } = job;
  const { fields } = versionOf(job, record.version);
  if (fields.schedule === undefined) return job;
  const schedule = all ? { ...fields.schedule, jitter: "0s" } : fields.schedule;
  let { since } = record;
  const found: StoredSkip[] = [];
  const owed: OwedTick[] = [];
  let more = true;
  for (let look = 0; look < COUNTED_LOOKS && more; look += 1) {
    const due = dueTicks(schedule, { since, now, job: record.name, paused: true });
    const { asked, skips } = look === 0 ? askedOf(job, schedule, due) : { asked: [], skips: due.skips };
    owed.push(...asked);
    found.push(...skips.map((skip) => storedOf(skip, now)));
    ({ since, more } = due);
  }
  if (since === record.since) return job;
  const left = decided({ ...job, record: { ...record, since, owed: [...record.owed, ...owed] } });
  const [first] = found;
  if (first === undefined) return left;
  if (more) {
    // Ticks come once a minute at most: one look sees all of the last day.
    const lastDay = { at: Math.max(since.at, now - DAY_MS) };
    const due = dueTicks(schedule, { since: lastDay, now, job: record.name, paused: true });
    found.push(...due.skips.map((skip) => storedOf(skip, now)));
    since = due.since;
  }
  const count = found.reduce((sum, skip) => sum + skip.count, 0);
  const skip = { ...first, to: found.at(-1)?.to ?? first.to, count };
  return withSkips({ ...left, record: { ...left.record, since } }, [skip]);
}
