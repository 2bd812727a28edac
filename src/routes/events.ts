// The route of a pool's changes: a list, a long poll, or a stream (api.md#pool-events).
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import { z } from "zod";
import { Name, Wait } from "../schema/common.ts";
import { PoolEventList } from "../schema/pool/changes.ts";
import type { EdgeApp, EdgeContext } from "./edge.ts";
import { HEARTBEAT, KEEP_ALIVE_MS, keepAlive } from "./http/event-stream.ts";
import { hasCode } from "./http/problem.ts";
import { withRetries } from "./http/retry.ts";
import { operation } from "./openapi/operation.ts";
import { waitMs } from "./openapi/params.ts";
import { Hold } from "./query/hold.ts";
import { wantsStream } from "./runs/run-events.ts";

const ChangeNumber = z
  .string()
  .regex(/^\d{1,16}$/, "must be the number of a change, taken from `next` or `id`");

const events = operation({
  method: "get",
  path: "/v1/events",
  operationId: "listPoolEvents",
  access: "runs:read",
  tag: "Pools",
  codes: ["unknown_pool"],
  summary: "What changes in a pool: a list, or a stream",
  description:
    "Runs and workers whose state has changed, each in its latest state: intermediate states may be " +
    "missing. The first answer has everything that is live; `after` (or `Last-Event-ID`) " +
    "resumes after a change. With `Accept: text/event-stream` changes come as they happen, as `event: run` " +
    "and `event: worker`; their `id` is the number of the change. `event: end` means that the pool was " +
    "deleted; a stream that ends without it was cut off.",
  request: {
    query: z.strictObject({
      pool: Name.default("default"),
      after: ChangeNumber.optional().describe("only changes after this one"),
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
  },
});

/** Adds the events of pools (api.md#pool-events, api.md#streams). */
export function eventRoutes(app: EdgeApp): void {
  app.openapi(events, async (c) => {
    const { pool, after, wait } = c.req.valid("query");
    const from = c.req.valid("header")["last-event-id"] ?? after;
    const number = from === undefined ? null : Number(from);
    if (wantsStream(c)) return streamChanges(c, pool, number);
    const hold = new Hold(waitMs(wait));
    return c.json(await hold.ask((leftMs) => c.var.objects.pool(pool).events(number, leftMs)), 200);
  });
}

async function streamChanges(c: EdgeContext, pool: string, from: number | null): Promise<Response> {
  const read = (after: number | null, holdMs: number) => c.var.objects.pool(pool).events(after, holdMs);
  // Read once before the answer begins, so that an unknown pool still gets a 404.
  let batch = await read(from, 0);
  const writeEvents = async (stream: SSEStreamingApi) => {
    if (batch.items.length === 0) await stream.write(HEARTBEAT);
    while (!stream.aborted) {
      for (const { number, run, worker } of batch.items) {
        const event = run === undefined ? "worker" : "run";
        await stream.writeSSE({ id: String(number), event, data: JSON.stringify(run ?? worker) });
      }
      const { next } = batch;
      const later = await withRetries(() => read(next, KEEP_ALIVE_MS)).catch(undefinedIfGone);
      if (later === undefined) return void (await stream.writeSSE({ event: "end", data: "{}" }));
      batch = later;
    }
  };
  return streamSSE(c, (stream) => keepAlive(stream, () => writeEvents(stream)));
}

/**
 * Returns undefined if the pool has been deleted: then the stream ends normally. Rethrows any other error.
 */
function undefinedIfGone(error: unknown): undefined {
  if (!hasCode(error, "unknown_pool")) throw error;
}
