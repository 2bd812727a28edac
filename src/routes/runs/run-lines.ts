// The route of the numbers of the lines of a log (api.md#lines).
import { z } from "zod";
import { LogOffset } from "../../schema/run/arrivals.ts";
import { LogLine } from "../../schema/run/lines.ts";
import type { EdgeApp } from "../edge.ts";
import { invalid } from "../http/invalid.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer } from "../openapi/params.ts";
import { AttemptName, LogParams } from "./log-request.ts";

/** The number of a line, as a query has it. A line has one byte at least. */
const LineNumber = LogOffset.refine((line) => line >= 1, "must be 1 or more");

const lines = operation({
  method: "get",
  path: "/v1/runs/{id}/logs/{task}/{stream}/lines",
  operationId: "getLogLine",
  access: "runs:logs",
  tag: "Output",
  codes: ["unknown_run", "expired_run", "unknown_task", "unknown_attempt", "expired_logs"],
  summary: "Which number a line of a log has, or where the line with a number begins",
  description:
    "At most 4 MiB of the log, and the number of the line at the first of these bytes: those that have the " +
    "byte at `offset`, or those in which the line number `line` begins. Fetch them and count the newlines " +
    "to know the rest.",
  request: {
    params: LogParams,
    query: z.strictObject({
      attempt: AttemptName.optional(),
      offset: LogOffset.optional().meta({ description: "the offset of a byte in the stream" }),
      line: LineNumber.optional().meta({
        description: "the number of a line, counted from 1",
        type: "integer",
        minimum: 1,
        example: 120,
      }),
    }),
  },
  responses: { 200: jsonAnswer("a part of the log, and the number of its first line", LogLine) },
});

/** Adds the route of the numbers of the lines of a log (api.md#lines). */
export function runLineRoutes(app: EdgeApp): void {
  app.openapi(lines, async (c) => {
    const { id, task, stream } = c.req.valid("param");
    const { attempt, offset, line } = c.req.valid("query");
    if (offset !== undefined && line !== undefined)
      throw invalid([
        { pointer: "?line", detail: "cannot be used together with `offset`: send one of them" },
      ]);
    const wanted = line === undefined ? { offset: offset ?? 0 } : { line };
    return c.json(await c.var.objects.allocation(id).line({ task, stream, attempt, ...wanted }), 200);
  });
}
