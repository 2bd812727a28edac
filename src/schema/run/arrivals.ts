// When did which bytes of a task's output arrive, as the API says it (api.md#arrivals)?
import { z } from "zod";
import { STREAMS } from "../../shared/attempt-id.ts";
import { MAX_LOG_BYTES } from "../../shared/limits.ts";
import { InstantText } from "../common.ts";

/** An offset in a stream, as a query has it. */
export const LogOffset = z
  .string()
  .refine(
    (text) => /^\d{1,15}$/.test(text) && Number(text) <= MAX_LOG_BYTES,
    `must be a number of bytes from 0 to ${MAX_LOG_BYTES}`,
  )
  .transform(Number)
  .meta({ type: "integer", example: 8_388_608 });

const Offset = z.int().min(0);

/** Bytes of a stream that arrived together. */
export const LogArrival = z
  .object({
    stream: z.enum(STREAMS),
    from: Offset.describe("the offset of the first byte in the stream"),
    to: Offset.describe("the offset after the last byte"),
    at: InstantText.nullable().describe(
      "when they had arrived on their machine; null: its agent does not say",
    ),
    after: InstantText.nullable().describe(
      "if the agent did not run in between: they arrived after this, and before `at`",
    ),
  })
  .meta({ id: "LogArrival" });

const Offsets = z.object({ stdout: Offset, stderr: Offset });

/** The order in which the bytes of an attempt arrived. */
export const LogArrivals = z
  .object({
    attempt: z.string().nullable().describe("the end of the attempt's id; null: there is no attempt yet"),
    ended: z.boolean().describe("whether nothing can follow after `stored`"),
    stored: Offsets.describe("how many bytes of each stream are stored"),
    next: Offsets.describe("where the next page begins: `stdout` and `stderr` of its query"),
    items: z.array(LogArrival),
  })
  .meta({ id: "LogArrivals" });
export type LogArrivals = z.infer<typeof LogArrivals>;
