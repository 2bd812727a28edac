// The route of a run's events: a list, a long poll, or a stream (api.md#run-events).
import { accepts } from "hono/accepts";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import { z } from "zod";
import { Wait } from "../../schema/common.ts";
import { EventList } from "../../schema/run/run.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { HEARTBEAT, KEEP_ALIVE_MS, keepAlive } from "../http/event-stream.ts";
import { withRetries } from "../http/retry.ts";
import { operation } from "../openapi/operation.ts";
import { RunParams, waitMs } from "../openapi/params.ts";
import { Hold } from "../query/hold.ts";

const EventNumber = z.string().regex(/^\d{1,15}$/, "must be the number of an event, or 0 for all of them");

const events = operation({
  method: "get",
  path: "/v1/runs/{id}/events",
  operationId: "listRunEvents",
  access: "runs:read",
  tag: "Output",
  codes: ["unknown_run", "expired_run"],
  summary: "What happened to a run: a list, or a stream",
  description:
    "With `Accept: text/event-stream` the events come as they happen, each as `event: event`, until " +
    "`event: end`; a stream that ends without it was cut off. The `id` is the event's number: " +
    "`Last-Event-ID` (or `after`) resumes after it. `event: dropped` means that older events are gone.",
  request: {
    params: RunParams,
    query: z.strictObject({
      after: EventNumber.optional().meta({ description: "only events with a higher number" }),
      wait: Wait.optional(),
    }),
    headers: z.object({ "last-event-id": EventNumber.optional() }),
  },
  responses: {
    200: {
      description: "the events",
      content: {
        "application/json": { schema: EventList },
        "text/event-stream": { schema: z.string() },
      },
    },
  },
});

/** Adds the route of a run's events (api.md#run-events, api.md#streams). */
export function runEventRoutes(app: EdgeApp): void {
  app.openapi(events, async (c) => {
    const { id } = c.req.valid("param");
    const { after, wait } = c.req.valid("query");
    const from = Number(c.req.valid("header")["last-event-id"] ?? after ?? "0");
    if (wantsStream(c)) return streamEvents(c, id, from);
    const hold = new Hold(waitMs(wait));
    return c.json(await hold.ask((leftMs) => c.var.objects.allocation(id).events(from, leftMs)), 200);
  });
}

/** Whether the client asks for events as they happen. */
export function wantsStream(c: EdgeContext): boolean {
  const supports = ["application/json", "text/event-stream"];
  return accepts(c, { header: "Accept", supports, default: "application/json" }) === "text/event-stream";
}

async function streamEvents(c: EdgeContext, id: string, from: number): Promise<Response> {
  const read = (after: number, holdMs: number) => c.var.objects.allocation(id).events(after, holdMs);
  // Read once before the answer begins, so that an unknown run still gets a 404.
  let batch: EventList = await read(from, 0);
  const writeEvents = async (stream: SSEStreamingApi) => {
    let after = from;
    if (batch.dropped > after) {
      await stream.writeSSE({ event: "dropped", data: JSON.stringify({ dropped: batch.dropped }) });
    }
    if (batch.items.length === 0 && !batch.ended) await stream.write(HEARTBEAT);
    while (!stream.aborted) {
      for (const event of batch.items) {
        await stream.writeSSE({ id: String(event.seq), event: "event", data: JSON.stringify(event) });
        after = event.seq;
      }
      if (batch.ended) return void (await stream.writeSSE({ event: "end", data: "{}" }));
      batch = await withRetries(() => read(after, KEEP_ALIVE_MS));
    }
  };
  return streamSSE(c, (stream) => keepAlive(stream, () => writeEvents(stream)));
}
