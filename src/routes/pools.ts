// The routes of pools: create, list, read, queue, delete (api.md#pools).
import { z } from "zod";
import { LATER_POOL_FIELDS, PoolDeletion, PoolList, PoolView, PutPoolConfig } from "../schema/pool.ts";
import { Queue, type QueuedRun } from "../schema/queue.ts";
import { poolNameFault } from "../shared/cloud/names.ts";
import { DroverError } from "../shared/errors.ts";
import { actingOf } from "./access/caller.ts";
import type { EdgeApp } from "./edge.ts";
import { refuse } from "./http/invalid.ts";
import { operation } from "./openapi/operation.ts";
import { Flag, isOn, jsonAnswer, jsonBody, Limit, PoolParams } from "./openapi/params.ts";
import { Cursor, encodePosition, type Position } from "./query/cursor.ts";
import { askPools } from "./query/fan-out.ts";
import { refuseProviderSecret } from "./walls/run-limits.ts";

const put = operation({
  method: "put",
  path: "/v1/pools/{name}",
  operationId: "putPool",
  access: "pools:write",
  tag: "Pools",
  codes: ["unknown_project", "unknown_secret", "pool_in_use", "not_acknowledged"],
  summary: "Create or change a pool",
  request: { params: PoolParams, body: jsonBody(PutPoolConfig) },
  responses: {
    200: jsonAnswer("changed", PoolView),
    201: jsonAnswer("created", PoolView, ["Location"]),
  },
});

const list = operation({
  method: "get",
  path: "/v1/pools",
  operationId: "listPools",
  access: "pools:read",
  tag: "Pools",
  summary: "All pools, by name",
  responses: { 200: jsonAnswer("the pools", PoolList) },
});

const read = operation({
  method: "get",
  path: "/v1/pools/{name}",
  operationId: "getPool",
  access: "pools:read",
  tag: "Pools",
  codes: ["unknown_pool"],
  summary: "One pool: configuration, queue, workers, hold-offs",
  request: { params: PoolParams },
  responses: { 200: jsonAnswer("the pool", PoolView) },
});

/** The position in a queue's cursor: priority and time of submission. */
const QUEUE_PLACE = /^(\d{1,3})\/(\d{1,15})$/;

const queue = operation({
  method: "get",
  path: "/v1/pools/{name}/queue",
  operationId: "listQueue",
  access: "pools:read",
  tag: "Pools",
  codes: ["unknown_pool"],
  summary: "The runs that wait for a place, in queue order, each with the reason",
  description:
    "By priority, then by submission. If no machine has capacity for a run, a run behind it can be placed " +
    "first. All runs of a page are from one plan.",
  request: {
    params: PoolParams,
    query: z.strictObject({
      limit: Limit,
      cursor: Cursor.refine(
        ({ at }) => QUEUE_PLACE.test(at),
        "must be the `next` of an earlier answer, unchanged",
      ).optional(),
    }),
  },
  responses: { 200: jsonAnswer("the queue", Queue) },
});

const remove = operation({
  method: "delete",
  path: "/v1/pools/{name}",
  operationId: "deletePool",
  access: "pools:write",
  tag: "Pools",
  codes: ["unknown_pool", "pool_in_use", "not_acknowledged"],
  summary: "Delete an empty pool, or empty one first and then delete it",
  description:
    "A pool with runs that have not ended, or with machines, is 409 `pool_in_use`. With `drain=1` it takes " +
    "no more runs; its runs finish, its machines end, and then it is deleted. A PUT of the pool " +
    "cancels this. With `force=1` its runs are aborted with force and its machines killed with " +
    "force: `leftBehind` names the machines that may be left at the provider.",
  request: {
    params: PoolParams,
    query: z.strictObject({ drain: Flag.optional(), force: Flag.optional() }),
  },
  responses: { 200: jsonAnswer("deleted, or being drained", PoolDeletion) },
});

/** Throws if the provider does not accept machines that are named after the pool (clouds.md#names). */
function refusePoolName(name: string, { provider: { kind } }: PutPoolConfig): void {
  const fault = poolNameFault(kind, name);
  if (fault === null) return;
  const fields = [{ pointer: "/name", detail: fault }];
  throw new DroverError("invalid_request", `the pool cannot be called "${name}": ${fault}`, { fields });
}

/** The cursor for the runs after this run. */
function cursorOf({ id, priority, submittedAt }: QueuedRun): string {
  return encodePosition({ at: `${priority}/${Date.parse(submittedAt)}`, id });
}

/** The queue position in a cursor. */
function placeOf({ at, id }: Position) {
  const [, priority, submittedAt] = QUEUE_PLACE.exec(at) ?? [];
  return { priority: Number(priority), submittedAt: Number(submittedAt), run: id };
}

/** Adds the routes of pools (api.md#pools). */
export function poolRoutes(app: EdgeApp): void {
  app.openapi(
    put,
    async (c) => {
      const { name } = c.req.valid("param");
      const config = c.req.valid("json");
      refuseProviderSecret(config, c.var.caller);
      refusePoolName(name, config);
      const registry = c.var.objects.registry();
      const { created, view } = await registry.putPool(name, config, actingOf(c.var.caller));
      c.var.pools.forget();
      if (!created) return c.json(view, 200);
      c.header("Location", `/v1/pools/${name}`);
      return c.json(view, 201);
    },
    refuse(LATER_POOL_FIELDS),
  );
  app.openapi(remove, async (c) => {
    const { drain, force } = c.req.valid("query");
    const how = isOn(force) ? "forced" : isOn(drain) ? "drained" : "empty";
    const { name } = c.req.valid("param");
    const deletion = await c.var.objects.registry().removePool(name, how, actingOf(c.var.caller));
    c.var.pools.forget();
    return c.json(deletion, 200);
  });
  app.openapi(list, async (c) => {
    const names = await c.var.pools.names();
    const { answers, service } = await askPools(names, (name) => c.var.objects.pool(name).view());
    const items = names.flatMap((name) => answers.get(name) ?? []);
    return c.json({ items, next: null, service }, 200);
  });
  app.openapi(queue, async (c) => {
    const { limit, cursor } = c.req.valid("query");
    const after = cursor === undefined ? undefined : placeOf(cursor);
    const pool = c.var.objects.pool(c.req.valid("param").name);
    const { items, queued, isLast } = await pool.queue({ limit, after });
    const last = items.at(-1);
    const next = isLast || last === undefined ? null : cursorOf(last);
    return c.json({ items, next, queued }, 200);
  });
  app.openapi(read, async (c) => c.json(await c.var.objects.pool(c.req.valid("param").name).view(), 200));
}
