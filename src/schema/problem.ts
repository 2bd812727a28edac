// What does every error answer look like (RFC 9457)?
import { z } from "zod";
import { type ErrorCode as Code, STATUS_OF_CODE } from "../shared/errors.ts";

// The keys of `STATUS_OF_CODE` are the codes.
export const ErrorCode = z.enum(Object.keys(STATUS_OF_CODE) as Code[]).meta({ id: "ErrorCode" });

/** Every error answer: RFC 9457, `application/problem+json`. */
export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: ErrorCode,
    temporary: z.boolean(),
    retryAfterMs: z.number().optional(),
    errors: z
      .array(
        z.object({
          pointer: z
            .string()
            .describe(
              "the wrong part: a JSON pointer into the body (`/runs/3/argv`), a query parameter " +
                "(`?wait`), a part of the path (`{id}`), or a header (`Range:`)",
            ),
          detail: z.string(),
        }),
      )
      .optional(),
    runs: z
      .array(z.string())
      .optional()
      .describe("the ids that are unknown or expired, or some of those that hold a concurrency key"),
    stored: z
      .array(z.string())
      .optional()
      .describe("for a partly stored batch: the ids of the runs that exist"),
  })
  .meta({ id: "Problem" });
export type Problem = z.infer<typeof Problem>;
