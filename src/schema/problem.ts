import { z } from "zod";

/** Every error answer: RFC 9457, `application/problem+json`. */
export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.string(),
    temporary: z.boolean(),
    retryAfterMs: z.number().optional(),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .catchall(z.json())
  .meta({ id: "Problem" });
export type Problem = z.infer<typeof Problem>;
