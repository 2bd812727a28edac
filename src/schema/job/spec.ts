// What may the runs of a job be told to do, before their parameters are filled in (jobs.md#filling-in)?
import { z } from "zod";
import { REFERENCE } from "../../shared/references.ts";
import { Container, ImageName } from "../run/container.ts";
import { AfterJob } from "../run/relations/after.ts";
import { RunFields } from "../run/run-spec.ts";
import { addFaults } from "../run/spec-rules.ts";
import { MAX_TASKS, TaskInput } from "../run/task.ts";

/** The name of an image, in which references of a job may stand. The filled name is checked with each run. */
const JobImage = z
  .string()
  .max(512)
  .refine(
    (text) =>
      ImageName.safeParse(text.replace(REFERENCE, (all, escaped) => (escaped === "" ? "x" : all))).success,
    "must be the name of an image, such as `node:24` or `node:${param.version}`",
  )
  .meta({ example: "node:${param.version}" });

/** How many jobs one job can follow: each of them is asked for each run. */
export const MAX_JOBS_TO_FOLLOW = 20;

const AFTER_TEXT =
  'must be an object such as {"job": "nightly", "on": "any"}: a run or an array ends once, and a job runs ' +
  "many times";

const JobContainer = Container.extend({ image: JobImage }).meta({ id: "JobContainer" });

const JobTask = TaskInput.extend({ container: JobContainer.optional() }).meta({ id: "JobTask" });

/**
 * The spec of the runs of a job: that of a run, without what belongs to one run alone, and with references to
 * parameters (jobs.md#filling-in). `templateProblems` says where they may stand.
 */
export const JobRunSpec = RunFields.omit({ id: true, rerunOf: true, array: true, after: true, payload: true })
  .extend({
    container: JobContainer.optional(),
    after: z
      .array(AfterJob, AFTER_TEXT)
      .min(1)
      .max(MAX_JOBS_TO_FOLLOW)
      .optional()
      .describe("each run starts when runs of these jobs have ended so (jobs.md#following)"),
    tasks: z
      .array(JobTask, "must be a list of tasks, each with a name and a command")
      .min(1, "must have at least 1 entry")
      .max(MAX_TASKS, `must have at most ${MAX_TASKS} entries`)
      .optional(),
  })
  .superRefine((spec, context) => {
    addFaults(spec, (path, message) => context.addIssue({ code: "custom", path, message }));
  })
  .meta({
    id: "JobRunSpec",
    description: "what the runs of a job do, with references to parameters",
    example: { argv: ["make", "${param.target}"], timeout: "30m" },
  });
export type JobRunSpec = z.output<typeof JobRunSpec>;
