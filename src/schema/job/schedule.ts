// When does a job run by itself (jobs.md#schedule)? Rules that need a calendar: core/job/schedule/parse.ts.
import { z } from "zod";
import { parseDuration } from "../../shared/duration.ts";
import { MAX_CATCH_UP, MAX_CRONS, MAX_JITTER } from "../../shared/jobs/limits.ts";
import { Duration, InstantInput } from "../common.ts";

const CRON_ERROR = 'must be a cron expression, such as "30 2 * * *", or a list of such';

const Cron = z.string(CRON_ERROR).min(1, CRON_ERROR).max(256, "must have at most 256 characters");

/** A duration of at most so long. */
function atMost(longest: string) {
  return Duration.refine(
    (text) => (parseDuration(text) ?? 0) <= (parseDuration(longest) ?? 0),
    `must be at most ${longest}`,
  );
}

/** What happens at a tick while an earlier run of the job has not ended. */
export const Overlap = z.enum(["skip", "queue-one", "queue-all", "cancel", "allow"]).meta({ id: "Overlap" });

/** What happens with ticks that nobody could handle in time (jobs.md#missed). */
export const Missed = z.enum(["skip", "one", "all"]).meta({ id: "Missed" });

/** The ticks of a job, and what happens when they cannot be kept (jobs.md#schedule). */
export const JobSchedule = z
  .strictObject({
    cron: z
      .union([Cron, z.array(Cron, CRON_ERROR).min(1).max(MAX_CRONS)], CRON_ERROR)
      .describe("five fields (minute, hour, day, month, weekday), or a nickname such as `@daily`"),
    zone: z
      .string('must be the name of a time zone, such as "Europe/Berlin" or "UTC"')
      .min(1)
      .max(64)
      .describe("the time zone in which `cron` is meant")
      .meta({ example: "Europe/Berlin" }),
    jitter: atMost(MAX_JITTER)
      .default("0s")
      .describe("spreads the starts of many jobs over this time after the tick, by their names"),
    overlap: Overlap.default("skip").describe("what happens while an earlier run has not ended"),
    missed: Missed.default("one").describe("what happens with ticks that could not be kept in time"),
    catchUp: atMost(MAX_CATCH_UP).default("1h").describe("a missed tick that is older never runs"),
    from: InstantInput.optional().describe("there are no ticks before this instant"),
    until: InstantInput.optional().describe("there are no ticks at this instant and after it"),
  })
  .meta({ id: "JobSchedule", example: { cron: "30 2 * * *", zone: "Europe/Berlin", jitter: "5m" } });
/** A schedule with its defaults, as stored. */
export type JobSchedule = z.output<typeof JobSchedule>;
/** A schedule as a client sends it. */
export type JobScheduleInput = z.input<typeof JobSchedule>;
