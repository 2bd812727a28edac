// What do the routes of jobs accept and answer (jobs.md#the-job)?
import { z } from "zod";
import { MAX_TRIGGER_KEY_CHARS } from "../../shared/jobs/limits.ts";
import { InstantInput, InstantText, Name } from "../common.ts";
import { ErrorCode } from "../problem.ts";
import { TextMap } from "../run/task.ts";
import { JobMeta, JobPayload, PayloadFile, PayloadInput } from "./inputs.ts";
import { JobParams, ParamValues } from "./params.ts";
import { JobSchedule } from "./schedule.ts";
import { JobRunSpec } from "./spec.ts";

/** Everything that a version of a job says. */
export const JobFields = z
  .strictObject({
    description: z.string().max(1_024).default(""),
    spec: JobRunSpec,
    params: JobParams.default({}).describe("the values that a run can be given"),
    payload: JobPayload.optional().describe("whether a run is given a file; forbidden if absent"),
    payloadFile: PayloadFile.optional().describe("where a run finds its payload, in the task's directory"),
    meta: JobMeta.optional().describe("the keys of `meta` that a run can be given; none if absent"),
    schedule: JobSchedule.optional().describe("when it runs by itself; absent: only when it is triggered"),
  })
  .meta({ id: "JobFields", description: "what a version of a job says" });
export type JobFields = z.output<typeof JobFields>;
export type JobFieldsInput = z.input<typeof JobFields>;

/** The body of `PUT /v1/jobs/{name}`: the fields of a version, and what belongs to none. */
export const PutJobRequest = JobFields.extend({
  paused: z
    .boolean()
    .optional()
    .describe("whether its ticks are skipped from now on; absent: as before, and a new job is not paused"),
}).meta({ id: "PutJobRequest" });
export type PutJobRequest = z.output<typeof PutJobRequest>;

/** A tick to come, or of the past. */
export const JobTick = z
  .object({
    at: InstantText,
    local: z.string().describe("the same instant on the clocks of the schedule's zone"),
    startAt: InstantText.describe("when its run is submitted, with the jitter"),
    run: z.string().describe("the id of its run"),
  })
  .meta({ id: "JobTick" });
export type JobTick = z.infer<typeof JobTick>;

/** A tick that has come, and whose run is not submitted yet. */
export const WaitingTick = JobTick.extend({
  text: z.string().optional().describe("what it waits for, if that is the run of another job"),
}).meta({ id: "WaitingTick" });
export type WaitingTick = z.infer<typeof WaitingTick>;

/** Why a tick has no run (jobs.md#skips). */
export const JobSkipReason = z
  .enum(["paused", "missed", "too_old", "superseded", "over_cap", "overlap", "refused", "not_submitted"])
  .meta({ id: "JobSkipReason" });
export type JobSkipReason = z.infer<typeof JobSkipReason>;

/** Ticks one after the other that have no run, for one reason. */
export const JobSkip = z
  .object({
    from: InstantText,
    to: InstantText,
    count: z.int(),
    reason: JobSkipReason,
    text: z.string().describe("why, and what to do"),
    at: InstantText.describe("when that was decided"),
  })
  .meta({ id: "JobSkip" });
export type JobSkip = z.infer<typeof JobSkip>;

/** A job, with its present version. */
export const Job = z
  .object({
    name: z.string(),
    project: z.string(),
    pool: z.string(),
    version: z.int(),
    ...JobFields.shape,
    paused: z
      .object({ at: InstantText, by: z.string() })
      .nullable()
      .describe("since when its ticks are skipped; null: it is not paused"),
    createdAt: InstantText,
    createdBy: z.string(),
    changedAt: InstantText,
    changedBy: z.string(),
    next: z
      .array(JobTick)
      .describe(
        "its next ticks, at most ten; empty: it has no schedule, its schedule is over, or it is paused",
      ),
    waiting: z.array(WaitingTick).describe("ticks that have come, and whose runs are not submitted yet"),
    skips: z.array(JobSkip).describe("the latest ticks without a run, newest first"),
  })
  .meta({ id: "Job" });
export type Job = z.infer<typeof Job>;

/** A job in the list. */
export const JobSummary = z
  .object({
    name: z.string(),
    project: z.string(),
    pool: z.string(),
    description: z.string(),
    version: z.int(),
    schedule: JobSchedule.nullable(),
    paused: z.boolean(),
    next: JobTick.nullable().describe("its next tick; null: there is none, or it is paused"),
    changedAt: InstantText,
  })
  .meta({ id: "JobSummary" });
export type JobSummary = z.infer<typeof JobSummary>;

export const JobList = z.object({ items: z.array(JobSummary), next: z.null() }).meta({ id: "JobList" });
export type JobList = z.infer<typeof JobList>;

/** What one version said, and who made it. */
export const JobVersion = z
  .object({ version: z.int(), at: InstantText, by: z.string(), ...JobFields.shape })
  .meta({ id: "JobVersion" });
export type JobVersion = z.infer<typeof JobVersion>;

export const JobVersionList = z
  .object({ items: z.array(JobVersion), next: z.null() })
  .meta({ id: "JobVersionList" });
export type JobVersionList = z.infer<typeof JobVersionList>;

/** `POST /v1/jobs/{name}/trigger` (jobs.md#trigger). */
export const TriggerRequest = z
  .strictObject({
    key: Name.max(MAX_TRIGGER_KEY_CHARS, `must have at most ${MAX_TRIGGER_KEY_CHARS} characters`)
      .optional()
      .describe("part of the run's id: the same key finds the same run again"),
    tick: InstantInput.optional().describe("run this tick of its schedule, whether it has come or not"),
    params: ParamValues.default({}),
    meta: TextMap.default({}),
    payload: PayloadInput.optional(),
    priority: z.int().min(1).max(100).optional().describe("that of the job if absent"),
  })
  .refine(({ key, tick }) => key === undefined || tick === undefined, {
    path: ["key"],
    error: "cannot be chosen for a tick, whose run has its own id",
  })
  .meta({ id: "TriggerRequest", example: { params: { target: "all" } } });
export type TriggerRequest = z.output<typeof TriggerRequest>;
export type TriggerRequestInput = z.input<typeof TriggerRequest>;

/** `POST /v1/jobs/{name}/resume` (jobs.md#paused). */
export const ResumeRequest = z.strictObject({
  makeUp: z
    .boolean()
    .default(false)
    .describe("treat the ticks of the pause as missed, by `missed` and `catchUp`, and do not skip them"),
});

/** Ticks of a schedule, oldest first. */
export const TickPreview = z.object({ items: z.array(JobTick) }).meta({ id: "TickPreview" });
export type TickPreview = z.infer<typeof TickPreview>;

/** `POST /v1/jobs/{name}/preview`: a schedule alone, or everything that `PUT` would store. */
export const PreviewRequest = z
  .strictObject({
    schedule: JobSchedule.optional(),
    // No description of its own, with which a schema loses its name.
    fields: JobFields.optional(),
    count: z.int().min(1).max(1_000).default(10),
  })
  .refine(({ schedule, fields }) => (schedule === undefined) !== (fields === undefined), {
    path: ["schedule"],
    error: "must be there unless `fields` is: one of both is what is looked at",
  })
  .meta({ id: "PreviewRequest", example: { schedule: { cron: "30 2 * * *", zone: "Europe/Berlin" } } });
/** What is looked at: a schedule alone, or all fields. */
export type Previewed = Pick<z.output<typeof PreviewRequest>, "schedule" | "fields">;

export const JobPreview = z
  .object({
    items: z.array(JobTick).describe("its next ticks; empty: it has no schedule, or the schedule has ended"),
    fields: JobFields.optional(),
  })
  .meta({ id: "JobPreview" });
export type JobPreview = z.infer<typeof JobPreview>;

/** Why a run of a tick was refused. */
export const RefusedTick = z.object({ code: ErrorCode, text: z.string() });
