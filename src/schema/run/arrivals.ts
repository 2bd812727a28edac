// When did which bytes of a task's output arrive, as the API says it (api.md#arrivals)?
import { z } from "zod";
import { STREAMS } from "../../shared/attempt-id.ts";
import { MAX_LOG_BYTES } from "../../shared/limits.ts";
import { MAX_STAMPS } from "../../shared/time/stamps.ts";
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

/** When log bytes arrived, in pairs (`PackedStamps`): those that do not fit the bytes are ignored. */
export const LogStamps = z
  .array(
    z
      .int()
      .min(0)
      .max(2 ** 48),
  )
  .max(2 * MAX_STAMPS)
  .describe("when these bytes arrived: pairs of a number of bytes and of milliseconds since the pair before");

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

/** An offset in each stream. */
const LogOffsets = z.object({ stdout: Offset, stderr: Offset }).meta({ id: "LogOffsets" });

/**
 * The order in which the bytes of an attempt arrived. `stored`: how many bytes of each stream are stored.
 * `next`: where the next page begins, the `stdout` and `stderr` of its query.
 */
export const LogArrivals = z
  .object({
    attempt: z.string().nullable().describe("the end of the attempt's id; null: there is no attempt yet"),
    ended: z.boolean().describe("whether nothing can follow after `stored`"),
    stored: LogOffsets,
    next: LogOffsets,
    items: z.array(LogArrival),
  })
  .meta({ id: "LogArrivals" });
export type LogArrivals = z.infer<typeof LogArrivals>;
