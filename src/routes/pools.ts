import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import { LATER_POOL_FIELDS, PoolConfig, PoolList, PoolView } from "../schema/pool.ts";
import { askPools } from "./ask-pools.ts";
import type { EdgeApp } from "./edge.ts";
import { refuse } from "./invalid.ts";
import { jsonAnswer, jsonBody, PoolParams, problemAnswer, withToken } from "./params.ts";

const put = createRoute({
  method: "put",
  path: "/v1/pools/{name}",
  summary: "Create or change a pool",
  security: withToken,
  request: { params: PoolParams, query: z.strictObject({}), body: jsonBody(PoolConfig) },
  responses: {
    200: jsonAnswer("changed", PoolView),
    201: jsonAnswer("created", PoolView),
    default: problemAnswer,
  },
});

const list = createRoute({
  method: "get",
  path: "/v1/pools",
  summary: "All pools, by name",
  security: withToken,
  request: { query: z.strictObject({}) },
  responses: { 200: jsonAnswer("the pools", PoolList), default: problemAnswer },
});

const read = createRoute({
  method: "get",
  path: "/v1/pools/{name}",
  summary: "One pool: configuration, queue, workers, hold-offs",
  security: withToken,
  request: { params: PoolParams, query: z.strictObject({}) },
  responses: { 200: jsonAnswer("the pool", PoolView), default: problemAnswer },
});

/** Adds the routes of pools (`api.md`, Pools and workers). */
export function poolRoutes(app: EdgeApp): void {
  app.openapi(
    put,
    async (c) => {
      const { name } = c.req.valid("param");
      const { created, view } = await c.env.objects.registry().putPool(name, c.req.valid("json"));
      c.var.pools.forget();
      return created ? c.json(view, 201) : c.json(view, 200);
    },
    refuse(LATER_POOL_FIELDS),
  );
  app.openapi(
    list,
    async (c) => {
      const names = await c.var.pools.names(c.env.objects.registry());
      const { answers, service } = await askPools(names, (name) => c.env.objects.pool(name).view());
      const items = names.flatMap((name) => answers.get(name) ?? []);
      return c.json({ items, next: null, service }, 200);
    },
    refuse(),
  );
  app.openapi(
    read,
    async (c) => c.json(await c.env.objects.pool(c.req.valid("param").name).view(), 200),
    refuse(),
  );
}
