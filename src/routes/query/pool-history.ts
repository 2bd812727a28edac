// The route of what happened in a pool (api.md#history-of-a-pool).
import { z } from "zod";
import { PoolHistory } from "../../schema/pool/history.ts";
import type { EdgeApp } from "../edge.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, PoolParams } from "../openapi/params.ts";
import { spanFields, spanOf } from "./span.ts";

/** How far back a history begins whose request says nothing else. */
const DEFAULT_SPAN_MS = 3_600_000;

const history = operation({
  method: "get",
  path: "/v1/pools/{name}/history",
  operationId: "getPoolHistory",
  access: "pools:read",
  tag: "Pools",
  codes: ["unknown_pool"],
  summary: "What happened in a pool within a time: to its runs and to its machines",
  description:
    "Oldest first, as far as the pool still has it: of each run and each machine the latest of each kind, " +
    "so of a run that was placed twice only the last placement. What users asked for is in " +
    "`GET /v1/audit`. If `next` is not null, the same request with it as `since` reads on.",
  request: {
    params: PoolParams,
    query: z.strictObject(spanFields("an hour")),
  },
  responses: { 200: jsonAnswer("what happened", PoolHistory) },
});

/** Adds the route of what happened in a pool (api.md#history-of-a-pool). */
export function poolHistoryRoutes(app: EdgeApp): void {
  app.openapi(history, async (c) => {
    const span = spanOf(c.req.valid("query"), c.env.now(), DEFAULT_SPAN_MS);
    return c.json(await c.var.objects.pool(c.req.valid("param").name).past("history", span), 200);
  });
}
