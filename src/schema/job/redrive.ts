// What is asked for when parked runs of a job are to run again, and what is answered (jobs.md#redrive)?
import { z } from "zod";
import { RunId } from "../common.ts";
import { FailedRunItem, ServiceStatus } from "../run/run.ts";

/** How many parked runs one request has run again: each costs up to four calls of objects. */
export const MAX_REDRIVEN = 100;

/** `POST /v1/jobs/{name}/redrive`. */
export const RedriveJobRequest = z
  .strictObject({
    runs: z
      .array(RunId)
      .min(1, "must name at least one run")
      .max(MAX_REDRIVEN, `must name at most ${MAX_REDRIVEN} runs`)
      .optional()
      .describe("these parked runs of the job"),
    all: z.boolean().default(false).describe("all parked runs of the job, newest first"),
    limit: z
      .int()
      .min(1)
      .max(MAX_REDRIVEN)
      .optional()
      .describe(`with \`all\`: how many in this request; ${MAX_REDRIVEN} if absent`),
    cursor: z.string().max(16_384).optional().describe("with `all`: the `next` of an earlier answer"),
  })
  .refine(({ runs, all }) => (runs === undefined) === all, {
    path: ["all"],
    error: "must be true unless `runs` names the runs: one of both says which parked runs are meant",
  })
  .superRefine(({ runs, ...page }, context) => {
    if (runs === undefined) return;
    for (const field of ["limit", "cursor"] as const) {
      if (page[field] === undefined) continue;
      const message = "cannot be combined with `runs`, which have no pages";
      context.addIssue({ code: "custom", path: [field], message });
    }
  })
  .meta({ id: "RedriveJobRequest", example: { all: true } });
export type RedriveJobRequest = z.output<typeof RedriveJobRequest>;

/** What became of each parked run. */
export const RedrivenList = z
  .object({
    items: z
      .array(
        z.object({
          run: z.string().describe("the parked run"),
          as: z.string().describe("the run that repeats it"),
          created: z.boolean().describe("false: an earlier request had made it"),
        }),
      )
      .describe("runs that run again"),
    failed: z
      .array(FailedRunItem)
      .describe("runs that could not be redriven, and why; those that are parked stay so"),
    next: z.string().nullable().describe("the `cursor` for further parked runs; null: there are none"),
    service: z.array(ServiceStatus).describe("the pools that were asked"),
  })
  .meta({ id: "RedrivenList" });
export type RedrivenList = z.infer<typeof RedrivenList>;
