// The route that Prometheus scrapes (api.md#metrics).
import { z } from "zod";
import { Name } from "../schema/common.ts";
import { metricsText, type Sample } from "../schema/metrics.ts";
import type { EdgeApp } from "./edge.ts";
import { operation } from "./openapi/operation.ts";
import { repeatable } from "./openapi/params.ts";
import { askPools } from "./query/fan-out.ts";

/** The content type of Prometheus' text format. */
const PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8";

const route = operation({
  method: "get",
  path: "/metrics",
  operationId: "getMetrics",
  access: "metrics:read",
  tag: "Service",
  codes: ["unknown_pool"],
  summary: "Metrics for Prometheus",
  description:
    "Each pool is asked once; of a pool that does not answer there is only `drover_pool_up`, with the " +
    "value 0. If `pool` is given, only the named pools are asked, so that many pools can be scraped in " +
    "parts.",
  request: { query: z.strictObject({ pool: repeatable(Name).optional() }) },
  responses: {
    200: { description: "the metrics", content: { "text/plain": { schema: z.string() } } },
  },
});

/** Adds the metrics (api.md#metrics). */
export function metricsRoutes(app: EdgeApp): void {
  app.openapi(route, async (c) => {
    const { objects } = c.var;
    const requested = c.req.valid("query").pool;
    const names = requested ?? (await c.var.pools.names());
    const { answers, service } = await askPools(names, (name) => objects.pool(name).metrics());
    const silent = service.filter(({ healthy }) => !healthy);
    const down = silent.map(({ pool }): Sample => ({ name: "drover_pool_up", labels: { pool }, value: 0 }));
    const text = metricsText([...down, ...[...answers.values()].flat()]);
    return c.text(text, 200, { "content-type": PROMETHEUS_TEXT });
  });
}
