import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import { Name } from "../schema/common.ts";
import { KillRequest, WORKER_STATES, WorkerList, WorkerStatus } from "../schema/pool.ts";
import { Why } from "../schema/run.ts";
import { askPools } from "./ask-pools.ts";
import { Cursor, isAfter, newestFirst, pageOf } from "./cursor.ts";
import type { EdgeApp } from "./edge.ts";
import { refuse } from "./invalid.ts";
import { jsonAnswer, Limit, problemAnswer, repeatable, WorkerParams, withToken } from "./params.ts";

const request = { params: WorkerParams, query: z.strictObject({}) };
const oneWorker = { 200: jsonAnswer("the worker", WorkerStatus), default: problemAnswer };

const list = createRoute({
  method: "get",
  path: "/v1/workers",
  summary: "Workers, newest first",
  security: withToken,
  request: {
    query: z.strictObject({
      pool: Name.optional(),
      state: repeatable(z.enum(WORKER_STATES)).optional(),
      limit: Limit,
      cursor: Cursor.optional(),
    }),
  },
  responses: { 200: jsonAnswer("the workers", WorkerList), default: problemAnswer },
});

const read = createRoute({
  method: "get",
  path: "/v1/workers/{id}",
  summary: "One worker, whole",
  security: withToken,
  request,
  responses: oneWorker,
});

const why = createRoute({
  method: "get",
  path: "/v1/workers/{id}/why",
  summary: "Why a worker is in its state, and what happens next, when",
  security: withToken,
  request,
  responses: { 200: jsonAnswer("the reason", Why), default: problemAnswer },
});

/** The verbs that set what a worker does when it has nothing to do (`arvados.md` §1.11). */
const BEHAVIORS = [
  {
    verb: "hold",
    behavior: "hold",
    summary: "Take no new runs, and stay: neither idle time nor a time-out ends it",
  },
  { verb: "drain", behavior: "drain", summary: "Take no new runs, and stop when the last has ended" },
  {
    verb: "resume",
    behavior: "run",
    summary: "Take runs again, and stop when idle: the end of hold and drain",
  },
] as const;

const kill = createRoute({
  method: "post",
  path: "/v1/workers/{id}/kill",
  summary: "Destroy the machine now, runs or not",
  security: withToken,
  request: { ...request, body: { content: { "application/json": { schema: KillRequest } } } },
  responses: oneWorker,
});

/** Adds the routes of workers (`api.md`, Pools and workers). */
export function workerRoutes(app: EdgeApp): void {
  app.openapi(
    list,
    async (c) => {
      const { pool, state, limit, cursor } = c.req.valid("query");
      const { objects } = c.env;
      const names = pool === undefined ? await c.var.pools.names(objects.registry()) : [pool];
      const states = state ?? [...WORKER_STATES];
      const { answers, service } = await askPools(names, (name) => objects.pool(name).workers(states));
      const sorted = [...answers.values()]
        .flat()
        .map((worker) => ({ worker, place: { at: worker.askedAt, id: worker.id } }))
        .filter(({ place }) => isAfter(place, cursor))
        .sort((a, b) => newestFirst(a.place, b.place));
      const { items, next } = pageOf(sorted, limit);
      return c.json({ items: items.map(({ worker }) => worker), next, service }, 200);
    },
    refuse(),
  );
  app.openapi(
    read,
    async (c) => c.json(await c.env.objects.worker(c.req.valid("param").id).read(), 200),
    refuse(),
  );
  app.openapi(
    why,
    async (c) => c.json(await c.env.objects.worker(c.req.valid("param").id).why(), 200),
    refuse(),
  );
  for (const { verb, behavior, summary } of BEHAVIORS) {
    app.openapi(
      createRoute({
        method: "post",
        path: `/v1/workers/{id}/${verb}`,
        summary,
        security: withToken,
        request,
        responses: oneWorker,
      }),
      async (c) => {
        const worker = c.env.objects.worker(c.req.valid("param").id);
        return c.json(await worker.setBehavior(behavior, c.var.actor), 200);
      },
      refuse(),
    );
  }
  app.openapi(
    kill,
    async (c) => {
      const worker = c.env.objects.worker(c.req.valid("param").id);
      const { reason } = c.req.valid("json");
      return c.json(await worker.kill({ reason: reason ?? "", by: c.var.actor }), 200);
    },
    refuse(),
  );
}
