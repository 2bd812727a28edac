// How does a job store the ticks that got no run (jobs.md#skips)?
import type { JobSchedule } from "../../../schema/job/schedule.ts";
import type { Instant } from "../../../shared/machine.ts";
import { type ExistingJob, MAX_SKIPS, type StoredSkip } from "../record.ts";
import type { TickSkip } from "../schedule/due.ts";
import { nextTicks } from "../schedule/ticks.ts";
import { withCounts } from "./tally.ts";
import { SKIP_TEXTS } from "./texts.ts";

/** A stretch of skipped ticks, as it is stored. */
export function storedOf(
  { from, to, count, reason }: Omit<TickSkip, "reason"> & { reason: keyof typeof SKIP_TEXTS },
  at: Instant,
): StoredSkip {
  return { from: from.at, to: to.at, count, reason, text: SKIP_TEXTS[reason], at };
}

/** The job with more skipped ticks. The oldest stretches make room. */
export function withSkips(job: ExistingJob, skips: readonly StoredSkip[]): ExistingJob {
  if (skips.length === 0) return job;
  const all = [...job.record.skips, ...skips].slice(-MAX_SKIPS);
  return { ...job, record: { ...job.record, skips: all, skipped: withCounts(skips, job.record.skipped) } };
}

/**
 * The job with one more skipped tick. The tick joins a stretch that begins one tick later, or the latest
 * stretch if that ends one tick earlier, unless their causes differ.
 */
export function withSkip(job: ExistingJob, one: StoredSkip, schedule: JobSchedule | undefined): ExistingJob {
  const counted = withSkips(job, [one]);
  if (schedule === undefined) return counted;
  const { skips } = job.record;
  const tickAfter = (at: Instant) => nextTicks(schedule, { at }, 1)[0]?.at;
  const following = tickAfter(one.to);
  const index = skips.findLastIndex((stretch, n) => {
    if (stretch.reason !== one.reason || stretch.text !== one.text) return false;
    return stretch.from === following || (n === skips.length - 1 && tickAfter(stretch.to) === one.from);
  });
  const found = skips[index];
  if (found === undefined) return counted;
  const [first, last] = found.from < one.from ? [found, one] : [one, found];
  const both = { ...last, from: first.from, count: first.count + last.count };
  return { ...counted, record: { ...counted.record, skips: skips.with(index, both) } };
}
