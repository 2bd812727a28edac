// When does the run of a tick start, if the starts of many jobs are spread out (jobs.md#jitter)?
import type { JobSchedule } from "../../../schema/job/schedule.ts";
import { durationMs } from "../../../shared/duration.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { fraction } from "../../jitter.ts";
import { nextTicks, type Since, type Tick } from "./ticks.ts";

/** A tick, and when its run starts. */
export interface StartingTick {
  tick: Tick;
  startAt: Instant;
}

/**
 * When the run of a tick starts: later than the tick by a part of `jitter` that depends on the job's name
 * alone, so that runs of one job keep their distances, and always before the next tick. `next`: that tick;
 * undefined: there is none (jobs.md#jitter).
 */
export function startOf(
  schedule: Pick<JobSchedule, "jitter">,
  tick: Pick<Tick, "at">,
  next: Pick<Tick, "at"> | undefined,
  job: string,
): Instant {
  const room: Millis = Math.min(durationMs(schedule.jitter), (next?.at ?? Infinity) - tick.at);
  return tick.at + Math.floor(room * fraction(job));
}

/** The next ticks of a job, at most `count` of them, each with the start of its run (jobs.md#ticks). */
export function nextStarts(schedule: JobSchedule, since: Since, count: number, job: string): StartingTick[] {
  const ticks = nextTicks(schedule, since, count + 1);
  const starts = ticks.map((tick, i) => ({ tick, startAt: startOf(schedule, tick, ticks[i + 1], job) }));
  return starts.slice(0, count);
}
