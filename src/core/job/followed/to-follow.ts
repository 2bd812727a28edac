// Which run of a job does a run follow that names the job (jobs.md#following)?

import type { JobSchedule } from "../../../schema/job/schedule.ts";
import type { FollowQuestion, ToFollow } from "../../../shared/jobs/to-follow.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { JobRecord } from "../record.ts";
import { instantsAfter } from "../schedule/ticks.ts";

/** A run of a job, as its pool lists it. */
export interface RunOfJob {
  run: string;
  submittedAt: Instant;
  /** The tick that has caused it, or that it repeats. Undefined: none. */
  tick: Instant | undefined;
}

/** A job, as far as it decides which of its ticks have no run yet. */
export interface Ticking {
  record: Pick<JobRecord, "owed" | "paused" | "since">;
  schedule: JobSchedule | undefined;
}

/**
 * For when a run of a job stands: its tick or, without one, its submission. A tick that somebody has run
 * before its time counts from then.
 */
export function instantOf({ submittedAt, tick = submittedAt }: RunOfJob): Instant {
  return Math.min(tick, submittedAt);
}

/** The latest of these runs, none of which is later than `until`. Of one tick the last one counts. */
export function latestOf(runs: readonly RunOfJob[], until: Instant): RunOfJob | undefined {
  let latest: RunOfJob | undefined;
  for (const one of runs) {
    const at = instantOf(one);
    if (at > until) continue;
    const known = latest === undefined ? -Infinity : instantOf(latest);
    if (latest === undefined || at > known || (at === known && one.submittedAt > latest.submittedAt))
      latest = one;
  }
  return latest;
}

/** Until when a run counts, and how old it may be. */
export function spanOf(
  { tick, maxAgeMs }: FollowQuestion,
  now: Instant,
): { oldest: Instant; until: Instant } {
  return { oldest: maxAgeMs === null ? -Infinity : (tick ?? now) - maxAgeMs, until: tick ?? Infinity };
}

/**
 * Decides which run of a job is followed (jobs.md#following): its latest that is not later than the tick of
 * the run that follows, and not too old. `waits`: the latest would be that of a tick which is not settled.
 * `job`: as it was before its runs were listed, so that a run which is made meanwhile is in one of both.
 */
export function toFollow(
  job: Ticking,
  runs: readonly RunOfJob[],
  question: FollowQuestion,
  now: Instant,
): ToFollow {
  const { oldest, until } = spanOf(question, now);
  const found = latestOf(runs, until);
  const at = found === undefined ? -Infinity : instantOf(found);
  const open = openTick(job, question.tick, now);
  if (open !== undefined && open >= oldest && open > at) return { kind: "waits", tick: open };
  if (found === undefined) return { kind: "none", latest: null };
  return at < oldest ? { kind: "none", latest: { run: found.run, at } } : { kind: "run", run: found.run };
}

/**
 * The latest tick up to `until` whose run is owed or that nobody has looked at. Without `until` only what
 * should have started by now counts: nobody waits for a start that is spread out.
 */
function openTick({ record, schedule }: Ticking, until: Instant | null, now: Instant): Instant | undefined {
  const owed = record.owed.filter(({ tick, startAt }) => {
    return until === null ? startAt <= now : tick.at <= until;
  });
  const ticks = owed.map(({ tick }) => tick.at);
  if (until !== null && schedule !== undefined && record.paused === null) {
    for (const at of instantsAfter(schedule, record.since)) {
      if (at > until) break;
      ticks.push(at);
    }
  }
  return ticks.length === 0 ? undefined : Math.max(...ticks);
}
