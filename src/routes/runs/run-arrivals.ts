// The route of the order in which both streams of a task arrived (api.md#arrivals).
import { z } from "zod";
import type { Arrivals } from "../../objects/rpc.ts";
import { InstantInput, Wait } from "../../schema/common.ts";
import { LogArrivals, LogOffset } from "../../schema/run/arrivals.ts";
import { STREAMS } from "../../shared/attempt-id.ts";
import { isoOrNull } from "../../shared/time/instant.ts";
import type { EdgeApp } from "../edge.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, waitMs } from "../openapi/params.ts";
import { Hold } from "../query/hold.ts";
import { AttemptName, OutputParams } from "./log-request.ts";

const arrivals = operation({
  method: "get",
  path: "/v1/runs/{id}/logs/{task}",
  operationId: "getLogArrivals",
  access: "runs:logs",
  tag: "Output",
  codes: ["unknown_run", "expired_run", "unknown_task", "unknown_attempt", "expired_logs"],
  summary: "In which order a task wrote to its two streams, and when",
  description:
    "Stretches of both streams in the order in which they arrived on their machine, at most 1,000. " +
    "`stored` is how much of each there is, `next` where to go on. With `wait` the answer is held while " +
    "there is nothing new. Each stream has a route for its bytes.",
  request: {
    params: OutputParams,
    query: z.strictObject({
      attempt: AttemptName.optional(),
      stream: z.enum(STREAMS).optional().meta({ description: "only this stream" }),
      stdout: LogOffset.optional().meta({
        description: "where to begin in stdout; if absent, at its beginning",
      }),
      stderr: LogOffset.optional().meta({
        description: "where to begin in stderr; if absent, at its beginning",
      }),
      since: InstantInput.optional().meta({
        description: "only what arrived then or later, and what has no time",
        example: "2026-11-21T08:30:00Z",
      }),
      wait: Wait.optional(),
    }),
  },
  responses: { 200: jsonAnswer("what arrived, in order", LogArrivals) },
});

/** Adds the route of the order in which both streams of a task arrived (api.md#arrivals). */
export function runArrivalRoutes(app: EdgeApp): void {
  app.openapi(arrivals, async (c) => {
    const { id, task } = c.req.valid("param");
    const { attempt, stream, stdout = 0, stderr = 0, since, wait } = c.req.valid("query");
    const streams = stream === undefined ? STREAMS : [stream];
    const request = { task, attempt, streams, from: { stdout, stderr }, since: instantOf(since) };
    const hold = new Hold(waitMs(wait));
    const found = await hold.ask((leftMs) => {
      return c.var.objects.allocation(id).arrivals({ ...request, waitMs: leftMs });
    });
    return c.json(shown(found), 200);
  });
}

function instantOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

function shown({ items, ...arrivals }: Arrivals): LogArrivals {
  return {
    ...arrivals,
    items: items.map(({ at, after, ...bytes }) => ({ ...bytes, at: isoOrNull(at), after: isoOrNull(after) })),
  };
}
