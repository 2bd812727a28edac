// What do readers see of the tries of a run (retry.md#status)?
import { z } from "zod";
import { RETRY_CAUSES } from "../../shared/retry/causes.ts";
import { InstantText } from "../common.ts";

const Try = z
  .object({
    try: z.int().describe("its number, from 1"),
    cause: z.enum(RETRY_CAUSES).nullable().describe("why it failed; null: it is the latest"),
    text: z.string().describe("how it failed, in words; empty: it is the latest"),
    epoch: z.int().nullable().describe("the placement that it had; null: it has none yet"),
    worker: z.string().nullable(),
    finishedAt: InstantText.nullable(),
    memoryBytes: z.int().describe("the memory that it asks for, of all its tasks at once"),
    onDemand: z.boolean().describe("only a machine that its cloud does not take back"),
    perHour: z
      .number()
      .nullable()
      .describe("its cost per hour; before its placement that on the cheapest machine; null: unknown"),
  })
  .meta({ id: "RunTry" });

/** The tries of a run with a retry policy. */
const RunTries = z
  .object({
    try: z.int().describe("the number of the present try, or of the next one while it waits"),
    of: z.int().describe("how many tries there can be"),
    nextAt: InstantText.nullable().describe("when it asks for its next place; null: it does not wait for it"),
    items: z.array(Try).describe("all tries so far, and the next one while it waits"),
  })
  .meta({ id: "RunTries", description: "absent: the run has no retry policy" });

/** A run that has failed for good and waits for somebody (retry.md#parked). */
export const Parked = z
  .object({
    since: InstantText,
    reason: z.string(),
    tries: z
      .int()
      .optional()
      .describe("how many tries it had; 0: it never had a place; absent: an earlier version has ended it"),
  })
  .meta({ id: "Parked", description: "it has failed for good, and waits for somebody; absent: it does not" });

/** What has become of a parked run. */
const Redriven = z
  .object({ run: z.string().describe("the run that repeats it"), at: InstantText, by: z.string() })
  .meta({ id: "Redriven", description: "it was parked, and was run again; absent: it was not" });

/** The fields of a run that are about its tries. */
export const triesShown = {
  retries: RunTries.optional(),
  parked: Parked.optional(),
  redriven: Redriven.optional(),
};
