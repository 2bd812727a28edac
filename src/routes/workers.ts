// The routes of workers: list, read, why, console, hold, drain, resume, kill (api.md#workers).
import { z } from "zod";
import { Name } from "../schema/common.ts";
import { WorkerConsole } from "../schema/pool/console.ts";
import { KillRequest, WorkerList, WorkerStateName, WorkerStatus } from "../schema/pool.ts";
import { Why } from "../schema/why.ts";
import { WORKER_STATES } from "../shared/run-state.ts";
import type { EdgeApp } from "./edge.ts";
import { operation } from "./openapi/operation.ts";
import { jsonAnswer, Limit, repeatable, WorkerParams } from "./openapi/params.ts";
import { Cursor, isAfter, newestFirst, pageOf } from "./query/cursor.ts";
import { askPools } from "./query/fan-out.ts";

const request = { params: WorkerParams };
/** What the routes of one worker have in common. */
const ofWorker = {
  tag: "Workers",
  codes: ["unknown_worker"],
  request,
  responses: { 200: jsonAnswer("the worker", WorkerStatus) },
} as const;

const list = operation({
  method: "get",
  path: "/v1/workers",
  operationId: "listWorkers",
  access: "pools:read",
  tag: "Workers",
  codes: ["unknown_pool"],
  summary: "Workers, newest first",
  request: {
    query: z.strictObject({
      pool: Name.optional(),
      state: repeatable(WorkerStateName).optional(),
      limit: Limit,
      cursor: Cursor.optional(),
    }),
  },
  responses: { 200: jsonAnswer("the workers", WorkerList) },
});

const read = operation({
  ...ofWorker,
  method: "get",
  path: "/v1/workers/{id}",
  operationId: "getWorker",
  access: "pools:read",
  summary: "The full status of a worker",
});

const why = operation({
  ...ofWorker,
  method: "get",
  path: "/v1/workers/{id}/why",
  operationId: "explainWorker",
  access: "pools:read",
  summary: "Why a worker is in its state, and what happens next and when",
  responses: { 200: jsonAnswer("the reason", Why) },
});

const showConsole = operation({
  ...ofWorker,
  method: "get",
  path: "/v1/workers/{id}/console",
  operationId: "getWorkerConsole",
  access: "pools:read",
  codes: ["unknown_worker", "no_console", "busy", "unavailable"],
  summary: "The end of what the console of its machine has shown",
  description:
    "Its provider is asked, by a call that counts against `maxCloudOpsPerSecond` of the pool. Within 5 s " +
    "the same answer is given again.",
  responses: { 200: jsonAnswer("the end of the console", WorkerConsole) },
});

/** The verbs that set the idle behavior of a worker (workers.md#idle-behaviors). */
const BEHAVIORS = [
  {
    verb: "hold",
    behavior: "hold",
    summary: "Take no new runs, and stay: neither idle time nor a timeout ends it",
  },
  { verb: "drain", behavior: "drain", summary: "Take no new runs, and stop after the last run" },
  {
    verb: "resume",
    behavior: "run",
    summary: "Take runs again, and stop when idle: undoes hold and drain",
  },
] as const;

const kill = operation({
  ...ofWorker,
  method: "post",
  path: "/v1/workers/{id}/kill",
  operationId: "killWorker",
  access: "workers:write",
  summary: "Destroy the machine now, whatever runs on it",
  description:
    "The worker is gone once the provider no longer lists its machine. With `force` it is gone after one " +
    "destroy call, or at once if no machine is known, but never before the lease of a run on it is " +
    "over. `leftBehind` then names the machine: look for it at the provider.",
  request: { ...request, body: { content: { "application/json": { schema: KillRequest } } } },
});

/** Adds the routes of workers (api.md#workers). */
export function workerRoutes(app: EdgeApp): void {
  app.openapi(list, async (c) => {
    const { pool, state, limit, cursor } = c.req.valid("query");
    const { objects } = c.var;
    const names = pool === undefined ? await c.var.pools.names() : [pool];
    const states = state ?? [...WORKER_STATES];
    const { answers, service } = await askPools(names, (name) => objects.pool(name).workers(states));
    const sorted = [...answers.values()]
      .flat()
      .map((worker) => ({ worker, place: { at: worker.askedAt, id: worker.id } }))
      .filter(({ place }) => isAfter(place, cursor))
      .sort((a, b) => newestFirst(a.place, b.place));
    const { items, next } = pageOf(sorted, limit);
    return c.json({ items: items.map(({ worker }) => worker), next, service }, 200);
  });
  app.openapi(read, async (c) => c.json(await c.var.objects.worker(c.req.valid("param").id).read(), 200));
  app.openapi(why, async (c) => c.json(await c.var.objects.worker(c.req.valid("param").id).why(), 200));
  app.openapi(showConsole, async (c) => {
    return c.json(await c.var.objects.worker(c.req.valid("param").id).console(), 200);
  });
  for (const { verb, behavior, summary } of BEHAVIORS) {
    app.openapi(
      operation({
        ...ofWorker,
        method: "post",
        path: `/v1/workers/{id}/${verb}`,
        operationId: `${verb}Worker`,
        access: "workers:write",
        summary,
      }),
      async (c) => {
        const worker = c.var.objects.worker(c.req.valid("param").id);
        return c.json(await worker.setBehavior(behavior, c.var.caller.by), 200);
      },
    );
  }
  app.openapi(kill, async (c) => {
    const worker = c.var.objects.worker(c.req.valid("param").id);
    const { reason = "", force = false } = c.req.valid("json");
    return c.json(await worker.kill({ reason, by: c.var.caller.by, force }), 200);
  });
}
