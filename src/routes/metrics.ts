// The route that Prometheus scrapes (api.md#metrics).
import { z } from "zod";
import type { Objects } from "../objects/rpc.ts";
import { Name } from "../schema/common.ts";
import { metricsText, type Sample } from "../schema/metrics.ts";
import { nameIn } from "../shared/access/project.ts";
import type { EdgeApp } from "./edge.ts";
import { inParallel } from "./http/parallel.ts";
import { operation } from "./openapi/operation.ts";
import { repeatable } from "./openapi/params.ts";
import { askPools } from "./query/fan-out.ts";
import { limitsRuns } from "./walls/run-limits.ts";

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
    "Each pool is asked once, and so is each webhook; of one that does not answer there is only " +
    "`drover_pool_up` or `drover_webhook_up`, with the value 0. If `pool` is given, only the named pools " +
    "are asked, so that many pools can be scraped in parts. A token that is limited to pools or labels " +
    "sees no webhooks and no jobs.",
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
    const isWhole = requested === undefined && !limitsRuns(c.var.caller.limits);
    const ofWebhooks = isWhole ? await askWebhooks(objects, c.var.caller.project) : [];
    const ofJobs = isWhole ? await objects.registry().jobCounts(c.var.caller.project) : [];
    const text = metricsText([...down, ...[...answers.values()].flat(), ...ofJobs, ...ofWebhooks]);
    return c.text(text, 200, { "content-type": PROMETHEUS_TEXT });
  });
}

/** The samples of a project's endpoints (null: of all). One that does not answer hides no other. */
async function askWebhooks(objects: Objects, project: string | null): Promise<Sample[]> {
  const endpoints = await objects.registry().webhooks(project);
  const samples = await inParallel(endpoints, ({ id, ...named }) => {
    const labels = { webhook: nameIn(named.project, named.name, "/") };
    const down: Sample = { name: "drover_webhook_up", labels, value: 0 };
    return objects
      .webhook(id)
      .metrics()
      .catch(() => [down]);
  });
  return samples.flat();
}
