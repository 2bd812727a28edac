import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import { z } from "zod";
import { Name, Wait } from "../schema/common.ts";
import { PoolEventList } from "../schema/pool.ts";
import type { EdgeApp, EdgeContext } from "./edge.ts";
import { KEEP_ALIVE_MS, keepAlive, NOTHING_NEW } from "./http/event-stream.ts";
import { refuse } from "./http/invalid.ts";
import { asDroverError } from "./http/problem.ts";
import { patiently } from "./http/retry.ts";
import { operation } from "./openapi/operation.ts";
import { problemAnswer, waitMs } from "./openapi/params.ts";
import { Hold } from "./query/hold.ts";
import { wantsStream } from "./runs/run-events.ts";

const ChangeNumber = z
  .string()
  .regex(/^\d{1,16}$/, "must be the number of a change, as `next` or `id` says it");

const events = operation({
  method: "get",
  path: "/v1/events",
  operationId: "listPoolEvents",
  tag: "Pools",
  access: "token",
  codes: ["unknown_pool"],
  summary: "What changes in a pool: a list, or a stream",
  description:
    "Runs and workers whose state has changed, each as it is now: what was in between may be missing, " +
    "the latest never. It begins with all that lives; `after` (or `Last-Event-ID`) resumes behind a " +
    "change. With `Accept: text/event-stream` they come as they happen, as `event: run` and " +
    "`event: worker`, and their `id` is the number of the change. `event: end` tells that the pool is " +
    "deleted; a stream that ends without it has broken.",
  request: {
    query: z.strictObject({
      pool: Name.default("default"),
      after: ChangeNumber.optional().meta({ description: "only what has changed after this" }),
      wait: Wait.optional(),
    }),
    headers: z.object({ "last-event-id": ChangeNumber.optional() }),
  },
  responses: {
    200: {
      description: "what has changed",
      content: {
        "application/json": { schema: PoolEventList },
        "text/event-stream": { schema: z.string() },
      },
    },
    default: problemAnswer,
  },
});

/** Adds the events of pools (api.md#pool-events, api.md#streams). */
export function eventRoutes(app: EdgeApp): void {
  app.openapi(
    events,
    async (c) => {
      const { pool, after, wait } = c.req.valid("query");
      const from = c.req.valid("header")["last-event-id"] ?? after;
      const number = from === undefined ? null : Number(from);
      if (wantsStream(c)) return streamChanges(c, pool, number);
      const hold = new Hold(waitMs(wait));
      return c.json(await hold.ask((leftMs) => c.env.objects.pool(pool).events(number, leftMs)), 200);
    },
    refuse(),
  );
}

async function streamChanges(c: EdgeContext, pool: string, from: number | null): Promise<Response> {
  const read = (after: number | null, holdMs: number) => c.env.objects.pool(pool).events(after, holdMs);
  // Asked before the answer begins, so that an unknown pool is still a 404.
  let batch = await read(from, 0);
  const tell = async (stream: SSEStreamingApi) => {
    if (batch.items.length === 0) await stream.write(NOTHING_NEW);
    while (!stream.aborted) {
      for (const { number, run, worker } of batch.items) {
        const event = run === undefined ? "worker" : "run";
        await stream.writeSSE({ id: String(number), event, data: JSON.stringify(run ?? worker) });
      }
      const { next } = batch;
      const later = await patiently(() => unlessGone(read(next, KEEP_ALIVE_MS)));
      if (later === undefined) return void (await stream.writeSSE({ event: "end", data: "{}" }));
      batch = later;
    }
  };
  return streamSSE(c, (stream) => keepAlive(stream, () => tell(stream)));
}

/** Undefined once there is no such pool any more: only then is its stream over, and not merely broken. */
async function unlessGone<Result>(reading: Promise<Result>): Promise<Result | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (asDroverError(error).code === "unknown_pool") return undefined;
    throw error;
  }
}
