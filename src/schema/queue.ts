// What `GET /v1/pools/{name}/queue` answers.
import { z } from "zod";
import { InstantText } from "./common.ts";
import { Next } from "./why.ts";

/** A run that waits for a place, and the reason. */
export const QueuedRun = z
  .object({
    id: z.string(),
    position: z.int().describe("its place in the queue: 1 is the first"),
    project: z.string(),
    priority: z.int(),
    command: z.string().describe("the beginning of the command line"),
    submittedAt: InstantText,
    ageMs: z.int().describe("how long ago it was submitted"),
    reason: z
      .object({ code: z.string(), text: z.string() })
      .describe("why it waits, as in `GET /v1/runs/{id}/why`"),
    next: Next,
  })
  .meta({ id: "QueuedRun" });
export type QueuedRun = z.infer<typeof QueuedRun>;

export const Queue = z
  .object({
    items: z.array(QueuedRun),
    next: z.string().nullable(),
    queued: z.int().describe("how many runs wait in all"),
  })
  .meta({ id: "Queue" });
export type Queue = z.infer<typeof Queue>;
