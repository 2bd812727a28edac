// What `GET /v1/pools/{name}/queue` answers.
import { z } from "zod";
import { InstantText } from "./common.ts";
import { Next } from "./why.ts";

/** A waiting run, with the reason. */
export const QueuedRun = z
  .object({
    id: z.string(),
    position: z.int().meta({ description: "its place in the queue: 1 is the first" }),
    priority: z.int(),
    command: z.string().meta({ description: "the beginning of the command line" }),
    submittedAt: InstantText,
    ageMs: z.int().meta({ description: "how long ago it was submitted" }),
    reason: z
      .object({ code: z.string(), text: z.string() })
      .meta({ description: "why it waits, as in `GET /v1/runs/{id}/why`" }),
    next: Next,
  })
  .meta({ id: "QueuedRun" });
export type QueuedRun = z.infer<typeof QueuedRun>;

export const Queue = z
  .object({
    items: z.array(QueuedRun),
    next: z.string().nullable(),
    queued: z.int().meta({ description: "how many runs wait in all" }),
  })
  .meta({ id: "Queue" });
export type Queue = z.infer<typeof Queue>;
