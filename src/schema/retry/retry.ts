// For which causes is a run tried again, how soon, and with what (retry.md#fields)?
import { z } from "zod";
import { MAX_RETRIES } from "../../shared/limits.ts";
import { RETRY_CAUSES } from "../../shared/retry/causes.ts";
import { Duration, Size } from "../common.ts";

const ExitCodes = z.array(z.int().min(1).max(255)).min(1).max(64);

const BACKOFF = { first: "10s", factor: 2, jitter: 0.25 };

/** When a run that has failed is tried again, on another placement. */
export const Retry = z
  .strictObject({
    on: z
      .array(z.enum(RETRY_CAUSES))
      .max(RETRY_CAUSES.length)
      .default([])
      .describe("the causes for which it is tried again; after any other it ends; none only with `park`"),
    exitCodes: ExitCodes.optional().describe("with `exit`: only these codes; a signal n counts as 128+n"),
    notExitCodes: ExitCodes.optional().describe("with `exit`: all codes but these"),
    max: z.int().min(1).max(MAX_RETRIES).default(3).describe("how many tries may follow the first"),
    backoff: z
      .strictObject({
        first: Duration.default(BACKOFF.first).describe("the wait before the second try"),
        factor: z
          .number()
          .min(1)
          .max(10)
          .default(BACKOFF.factor)
          .describe("each further wait is so many times the one before"),
        max: Duration.optional().describe("the longest wait; 10m, or `first` if that is longer, if absent"),
        jitter: z
          .number()
          .min(0)
          .max(1)
          .default(BACKOFF.jitter)
          .describe("a wait is up to this part longer, so that many runs do not come at once"),
      })
      .default(BACKOFF)
      .meta({ default: BACKOFF }),
    escalate: z
      .strictObject({
        oom: z
          .strictObject({
            memory: z
              .number()
              .min(1.1)
              .max(16)
              .default(2)
              .describe("the tasks that ran out of memory get so many times what they had"),
            upTo: Size.optional().describe("but no more than this; a task that had it is not tried again"),
          })
          .optional(),
        interrupted: z
          .enum(["on-demand"])
          .optional()
          .describe("later tries are on machines that their cloud does not take back"),
      })
      .optional()
      .describe("what later tries get that the first had not"),
    park: z
      .boolean()
      .default(false)
      .describe("a run that has failed for good is parked until somebody has it run again"),
  })
  .meta({
    id: "Retry",
    description: "for which causes the run is tried again on another placement, instead of `reschedule`",
    example: { on: ["oom", "machine_lost"], escalate: { oom: { memory: 2 } } },
  });
