import { createRoute } from "@hono/zod-openapi";
import { accepts } from "hono/accepts";
import { streamSSE } from "hono/streaming";
import { z } from "zod";
import { EventList } from "../schema/run.ts";
import type { EdgeApp, EdgeContext } from "./edge.ts";
import { refuse } from "./invalid.ts";
import { problemAnswer, RunParams, Wait, waitMs, withToken } from "./params.ts";
import { patiently } from "./patience.ts";

/** How long a stream stays silent at most: proxies cut what says nothing for longer (`api.md`, Streams). */
const KEEP_ALIVE_MS = 15_000;

const EventNumber = z.string().regex(/^\d{1,15}$/, "must be the number of an event, or 0 for all of them");

const events = createRoute({
  method: "get",
  path: "/v1/runs/{id}/events",
  summary: "What happened to a run: a list, or a stream",
  description:
    "With `Accept: text/event-stream` the events come as they happen, until `event: end`. Their `id` is " +
    "the event's number: `Last-Event-ID` (or `after`) resumes behind it. `event: dropped` tells that older " +
    "ones are not kept.",
  security: withToken,
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
    default: problemAnswer,
  },
});

/** Adds the route of a run's events (`api.md`, Runs and Streams). */
export function runEventRoutes(app: EdgeApp): void {
  app.openapi(
    events,
    async (c) => {
      const { id } = c.req.valid("param");
      const { after, wait } = c.req.valid("query");
      const from = Number(c.req.valid("header")["last-event-id"] ?? after ?? "0");
      if (wantsStream(c)) return streamEvents(c, id, from);
      return c.json(await c.env.objects.allocation(id).events(from, waitMs(wait)), 200);
    },
    refuse(),
  );
}

function wantsStream(c: EdgeContext): boolean {
  const supports = ["application/json", "text/event-stream"];
  return accepts(c, { header: "Accept", supports, default: "application/json" }) === "text/event-stream";
}

async function streamEvents(c: EdgeContext, id: string, from: number): Promise<Response> {
  const read = (after: number, holdMs: number) => c.env.objects.allocation(id).events(after, holdMs);
  // Asked before the answer begins, so that an unknown run is still a 404.
  let batch: EventList = await read(from, 0);
  return streamSSE(c, async (stream) => {
    let after = from;
    if (batch.dropped > after) {
      await stream.writeSSE({ event: "dropped", data: JSON.stringify({ dropped: batch.dropped }) });
    }
    while (!stream.aborted) {
      for (const event of batch.items) {
        await stream.writeSSE({ id: String(event.seq), data: JSON.stringify(event) });
        after = event.seq;
      }
      if (batch.ended) return void (await stream.writeSSE({ event: "end", data: "{}" }));
      if (batch.items.length === 0) await stream.write(": nothing new\n\n");
      batch = await patiently(() => read(after, KEEP_ALIVE_MS));
    }
  });
}
