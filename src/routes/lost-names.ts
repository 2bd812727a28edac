import { createMiddleware } from "hono/factory";
import { lostNames } from "../schema/lost-names.ts";
import type { EdgeTypes } from "./edge.ts";
import { invalid } from "./invalid.ts";

/** Refuses a JSON body with names that its schema would lose (`schema/lost-names.ts`). */
export const refuseLostNames = createMiddleware<EdgeTypes>(async (c, next) => {
  if (/\bjson\b/i.test(c.req.header("content-type") ?? "")) {
    const faults = lostNames(await c.req.text());
    if (faults.length > 0) throw invalid(faults);
  }
  await next();
});
