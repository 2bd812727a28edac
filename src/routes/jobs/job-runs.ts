// The routes by which a job runs: trigger, and what is next (jobs.md#trigger).
import { z } from "zod";
import { InstantInput } from "../../schema/common.ts";
import { JobPreview, PreviewRequest, TickPreview, TriggerRequest } from "../../schema/job/job.ts";
import { RunStatus } from "../../schema/run/run.ts";
import { namedBy, submitterOf } from "../access/caller.ts";
import type { EdgeApp } from "../edge.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, jsonBody } from "../openapi/params.ts";
import { checkText } from "../runs/submit/submission.ts";
import { JobPath, jobOf } from "./jobs.ts";

const trigger = operation({
  method: "post",
  path: "/v1/jobs/{name}/trigger",
  operationId: "triggerJob",
  access: "jobs:trigger",
  tag: "Jobs",
  codes: [
    "unknown_job",
    "unknown_run",
    "run_exists",
    "expired_run",
    "unknown_pool",
    "pool_draining",
    "project_full",
    "unsatisfiable",
    "host_paths_not_allowed",
    "container_not_allowed",
    "fake_driver_not_allowed",
    "concurrency_held",
    "concurrency_full",
    "busy",
    "not_acknowledged",
    "beyond_limits",
  ],
  summary: "Run a job now, with these values; or one of its ticks",
  description:
    "When this answers, the run is durable and queued. The same `key` finds the same run again; without " +
    "one, each request makes a run. A paused job can be triggered.",
  request: { params: JobPath, body: jsonBody(TriggerRequest) },
  responses: {
    200: jsonAnswer("the run existed already", RunStatus),
    201: jsonAnswer("the run is stored; `Location` is its path", RunStatus, ["Location"]),
  },
});

const ticks = operation({
  method: "get",
  path: "/v1/jobs/{name}/ticks",
  operationId: "listJobTicks",
  access: "runs:read",
  tag: "Jobs",
  codes: ["unknown_job"],
  summary: "The next ticks of a job, with their offsets and the ids of their runs",
  description: "They are what will happen, unless the job changes. A paused job has them, too.",
  request: {
    params: JobPath,
    query: z.strictObject({
      count: z
        .string()
        .regex(/^(1000|[1-9]\d{0,2})$/, "must be a whole number from 1 to 1000")
        .default("10")
        .transform(Number)
        .meta({ type: "integer", minimum: 1, maximum: 1_000, default: 10 }),
      after: InstantInput.optional().describe("those after this instant; those after now if absent"),
    }),
  },
  responses: { 200: jsonAnswer("the ticks", TickPreview) },
});

const preview = operation({
  method: "post",
  path: "/v1/jobs/{name}/preview",
  operationId: "previewJob",
  access: "runs:read",
  tag: "Jobs",
  summary:
    "What a job or a schedule would be if it were stored: its next ticks, and its fields with defaults",
  description:
    "Nothing is stored. `fields` are refused for the same reasons as by a `PUT`, but for what others could " +
    "change meanwhile: whether the pool and the secrets exist.",
  request: { params: JobPath, body: jsonBody(PreviewRequest) },
  responses: { 200: jsonAnswer("the ticks, and the fields", JobPreview) },
});

/** Adds the routes by which a job runs (jobs.md#trigger). */
export function jobRunRoutes(app: EdgeApp): void {
  app.openapi(trigger, async (c) => {
    const { key, tick, params, meta, payload, priority } = c.req.valid("json");
    checkText(c.req.valid("json"), ""); // there need not be a body
    const { by, budget } = submitterOf(c.var.caller);
    const run = tick === undefined ? { key: key ?? freshKey() } : { tick: Date.parse(tick) };
    const request = { given: { params, meta, payload }, run, priority, by, budget };
    const { created, status } = await jobOf(c, c.req.valid("param").name).trigger(request);
    if (!created) return c.json(status, 200);
    c.header("Location", `/v1/runs/${status.id}`);
    return c.json(status, 201);
  });
  app.openapi(ticks, async (c) => {
    const { count, after } = c.req.valid("query");
    const at = after === undefined ? null : Date.parse(after);
    return c.json({ items: await jobOf(c, c.req.valid("param").name).ticks(count, at) }, 200);
  });
  app.openapi(preview, async (c) => {
    const { count, ...shown } = c.req.valid("json");
    checkText(await c.req.json(), "");
    const { name } = c.req.valid("param");
    const items = await jobOf(c, name).preview(namedBy(c.var.caller, name), shown, count);
    return c.json({ items, fields: shown.fields }, 200);
  });
}

/** A key that nobody has chosen before. */
function freshKey(): string {
  return crypto.randomUUID().replaceAll("-", "").slice(0, 16);
}
