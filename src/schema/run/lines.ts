// Where in a log is the number of a line known, as the API says it (api.md#lines)?
import { z } from "zod";

const Offset = z.int().min(0);

/** Bytes of a stream, and the number of the line at the first of them. */
export const LogLine = z
  .object({
    attempt: z.string().nullable().describe("the end of the attempt's id; null: there is no attempt yet"),
    stored: Offset.describe("how many bytes of the stream are stored"),
    from: Offset.describe("the offset of the first of these bytes"),
    to: Offset.describe("the offset after the last of them"),
    line: z
      .int()
      .min(1)
      .nullable()
      .describe("the number of the line at `from`, counted from 1; null: its host has not counted"),
  })
  .meta({ id: "LogLine" });
export type LogLine = z.infer<typeof LogLine>;
