// The routes of a pool's samples, hours, and machines that are gone (api.md#past-of-a-pool).
import { z } from "zod";
import { GoneWorkers, PoolSamples, PoolTallies } from "../../schema/pool/past.ts";
import type { EdgeApp } from "../edge.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, Limit, PoolParams } from "../openapi/params.ts";
import { spanFields, spanOf } from "./span.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What the routes have in common. */
const ofPool = { method: "get", access: "pools:read", tag: "Pools", codes: ["unknown_pool"] } as const;

const samples = operation({
  ...ofPool,
  path: "/v1/pools/{name}/samples",
  operationId: "listPoolSamples",
  summary: "How a pool was, once a minute",
  description:
    "Its queue, runs, machines and what they cost an hour, oldest first, kept for 30 days. A sample is " +
    "taken with each listing of the provider's machines, once a minute at most, and else every five " +
    "minutes, while there are live runs or machines of a provider. Where there is none for longer, " +
    "nothing was there.",
  request: { params: PoolParams, query: z.strictObject(spanFields("an hour")) },
  responses: { 200: jsonAnswer("the samples", PoolSamples) },
});

const tallies = operation({
  ...ofPool,
  path: "/v1/pools/{name}/tallies",
  operationId: "listPoolTallies",
  summary: "What was counted in a pool, hour by hour",
  description:
    "Runs that ended, machines, and what these have cost, oldest first, kept for 30 days. What happened " +
    "counts for the hour in which the pool was looked at next, at most five minutes later.",
  request: { params: PoolParams, query: z.strictObject(spanFields("a day")) },
  responses: { 200: jsonAnswer("the hours", PoolTallies) },
});

const gone = operation({
  ...ofPool,
  path: "/v1/pools/{name}/gone-workers",
  operationId: "listGoneWorkers",
  summary: "The workers of a pool whose machines are gone, of the last 7 days",
  description: "The latest first. If `next` is not null, the same request with it as `until` reads on.",
  request: {
    params: PoolParams,
    query: z.strictObject({ ...spanFields("7 days"), limit: Limit }),
  },
  responses: { 200: jsonAnswer("the workers", GoneWorkers) },
});

/** Adds the routes of a pool's samples, hours, and machines that are gone (api.md#past-of-a-pool). */
export function poolPastRoutes(app: EdgeApp): void {
  app.openapi(samples, async (c) => {
    const span = spanOf(c.req.valid("query"), c.env.now(), HOUR_MS);
    return c.json(await c.var.objects.pool(c.req.valid("param").name).past("samples", span), 200);
  });
  app.openapi(tallies, async (c) => {
    const span = spanOf(c.req.valid("query"), c.env.now(), DAY_MS);
    return c.json(await c.var.objects.pool(c.req.valid("param").name).past("tallies", span), 200);
  });
  app.openapi(gone, async (c) => {
    const { limit, ...query } = c.req.valid("query");
    const span = spanOf(query, c.env.now(), 7 * DAY_MS);
    return c.json(await c.var.objects.pool(c.req.valid("param").name).past("gone", { ...span, limit }), 200);
  });
}
