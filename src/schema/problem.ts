import { z } from "zod";
import { Json } from "./common.ts";

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
    errors: z
      .array(
        z.object({
          pointer: z.string().meta({
            description:
              "where it is wrong: a JSON pointer into the body (`/runs/3/argv`), a query parameter " +
              "(`?wait`), a part of the path (`{id}`), or a header (`Range:`)",
          }),
          detail: z.string(),
        }),
      )
      .optional(),
  })
  .catchall(Json)
  .meta({ id: "Problem" });
export type Problem = z.infer<typeof Problem>;
