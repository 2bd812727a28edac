// The routes of one run: read, wait, abort, update, delete, why, stats (api.md#one-run).
import { z } from "zod";
import type { AllocationApi } from "../../objects/rpc.ts";
import { Wait } from "../../schema/common.ts";
import { AbortRequest, RunStatus, UpdateRequest } from "../../schema/run/run.ts";
import { RunStats } from "../../schema/run/stats.ts";
import { Why } from "../../schema/why.ts";
import { DroverError } from "../../shared/errors.ts";
import { isTerminal } from "../../shared/run-state.ts";
import type { EdgeApp } from "../edge.ts";
import { invalid } from "../http/invalid.ts";
import { operation } from "../openapi/operation.ts";
import {
  Flag,
  isOn,
  jsonAnswer,
  jsonBody,
  RunParams,
  repeatable,
  StateFilter,
  statesOf,
  waitMs,
} from "../openapi/params.ts";
import { Hold } from "../query/hold.ts";
import { checkText } from "./submit/submission.ts";

const oneRun = { 200: jsonAnswer("the run", RunStatus) };

const read = operation({
  method: "get",
  path: "/v1/runs/{id}",
  operationId: "getRun",
  access: "runs:read",
  tag: "Runs",
  codes: ["unknown_run", "expired_run"],
  summary: "The full status of a run",
  request: {
    params: RunParams,
    query: z.strictObject({
      wait: Wait.optional(),
      state: repeatable(StateFilter)
        .optional()
        .meta({ description: "what `wait` waits for; `done` if absent" }),
      health: z
        .literal("healthy", "must be `healthy`: there is no other health to wait for")
        .optional()
        .describe(
          "`wait` waits until all checks of the run pass; it ends at once if it has none, and with it",
        ),
      include: z
        .enum(["boot"])
        .optional()
        .describe("`boot`: also how the machine of its latest placement became ready"),
    }),
  },
  responses: oneRun,
});

const abort = operation({
  method: "post",
  path: "/v1/runs/{id}/abort",
  operationId: "abortRun",
  access: "runs:write",
  tag: "Runs",
  codes: ["unknown_run", "expired_run"],
  summary: "Stop a run",
  description:
    "Idempotent. The status in the answer may not be final yet; `wait` waits for the end. With `force` " +
    "its processes are killed at once, without shutdown delay, kill timeout or poststop task, " +
    "even if it is being stopped already.",
  request: {
    params: RunParams,
    query: z.strictObject({ wait: Wait.optional() }),
    body: { content: { "application/json": { schema: AbortRequest } } },
  },
  responses: oneRun,
});

const release = operation({
  method: "post",
  path: "/v1/runs/{id}/release",
  operationId: "releaseRun",
  access: "runs:write",
  tag: "Runs",
  codes: ["unknown_run", "expired_run", "not_terminal"],
  summary: "Let the machine of a kept run go",
  description:
    "Idempotent: a run that is not kept stays as it is. Commands that run there are killed. The status in " +
    "the answer has `kept` until the host has confirmed that nothing is left; `wait` waits for that.",
  request: { params: RunParams, query: z.strictObject({ wait: Wait.optional() }) },
  responses: oneRun,
});

const update = operation({
  method: "patch",
  path: "/v1/runs/{id}",
  operationId: "updateRun",
  access: "runs:write",
  tag: "Runs",
  codes: ["unknown_run", "expired_run", "stale_index", "terminal"],
  summary: "Change the spec of a run in place",
  description:
    "`spec` is the complete new spec; `specIndex` must be the run's current index. Policies, time limits, " +
    "labels, priority, env and meta of later attempts can change; a task that is removed is stopped.",
  request: { params: RunParams, body: jsonBody(UpdateRequest) },
  responses: oneRun,
});

const remove = operation({
  method: "delete",
  path: "/v1/runs/{id}",
  operationId: "deleteRun",
  access: "runs:write",
  tag: "Runs",
  codes: ["unknown_run", "expired_run", "not_terminal", "not_acknowledged"],
  summary: "Delete a run that has ended",
  description:
    "Deletes its history and logs, too. For 30 days every request for its id is answered with 410. A pool " +
    "deletes ended runs by itself when its `retention` is over. With `force=1` a live run is aborted with " +
    "`force` first. A run on a silent machine ends with its lease; until then the answer is 409.",
  request: { params: RunParams, query: z.strictObject({ force: Flag.optional() }) },
  responses: { 204: { description: "it is deleted" } },
});

const why = operation({
  method: "get",
  path: "/v1/runs/{id}/why",
  operationId: "explainRun",
  access: "runs:read",
  tag: "Runs",
  codes: ["unknown_run", "expired_run"],
  summary: "Why a run is in its state, and what happens next and when",
  request: { params: RunParams },
  responses: { 200: jsonAnswer("the reason", Why) },
});

const stats = operation({
  method: "get",
  path: "/v1/runs/{id}/stats",
  operationId: "getRunStats",
  access: "runs:read",
  tag: "Runs",
  codes: ["unknown_run", "expired_run", "unknown_task"],
  summary: "What the tasks of a run use",
  description: "The latest sample of each running task, at most a few seconds old, and their sum.",
  request: { params: RunParams, query: z.strictObject({ task: z.string().max(63).optional() }) },
  responses: { 200: jsonAnswer("the usage", RunStats) },
});

/** How long a forced deletion waits for the end of its run. */
const FORCED_WAIT_MS = 10_000;
/** How long a deletion waits until the machine of a kept run has let it go. */
const RELEASE_WAIT_MS = 10_000;

/** Lets the machine of a run go that is to be deleted. Throws `not_acknowledged` if its host is silent. */
async function letGo(run: AllocationApi, { id, kept }: RunStatus, by: string): Promise<void> {
  if (kept === undefined) return;
  const status = await run.release({ by, reason: "it is deleted", waitMs: RELEASE_WAIT_MS });
  if (status.kept === undefined) return;
  const text = `worker ${kept.worker} still keeps the run "${id}", and is told to let it go; try again`;
  throw new DroverError("not_acknowledged", text, { retryAfterMs: 1_000 });
}

/** Adds the routes of one run (api.md#one-run). */
export function runRoutes(app: EdgeApp): void {
  app.openapi(read, async (c) => {
    // A new stub for each call: a stub that has failed keeps failing.
    const run = () => c.var.objects.allocation(c.req.valid("param").id);
    const { wait, state, health, include } = c.req.valid("query");
    const boot = include === "boot";
    const ms = waitMs(wait);
    if (ms === 0) return c.json(await run().read({ boot }), 200);
    if (health !== undefined && state !== undefined)
      throw invalid([
        { pointer: "?health", detail: "cannot be combined with `state`: wait for one of them" },
      ]);
    const states = health ?? statesOf(state ?? ["done"]);
    const status = await new Hold(ms).ask((leftMs) => run().wait(states, leftMs));
    return c.json(boot ? await run().read({ boot }) : status, 200);
  });
  app.openapi(abort, async (c) => {
    const { id } = c.req.valid("param");
    const { reason = "", force = false } = c.req.valid("json");
    const hold = new Hold(waitMs(c.req.valid("query").wait));
    const by = c.var.caller.by;
    const abort = (leftMs: number) =>
      c.var.objects.allocation(id).abort({ reason, by, waitMs: leftMs, force });
    return c.json(await hold.ask(abort), 200);
  });
  app.openapi(release, async (c) => {
    const { id } = c.req.valid("param");
    const { by } = c.var.caller;
    const reason = `${by} has released it`;
    const release = (leftMs: number) => c.var.objects.allocation(id).release({ by, reason, waitMs: leftMs });
    const status = await new Hold(waitMs(c.req.valid("query").wait)).ask(release);
    if (!isTerminal(status.state)) {
      const text = `the run "${id}" is ${status.state}, so nothing of it is kept; to end it, abort it`;
      throw new DroverError("not_terminal", text);
    }
    return c.json(status, 200);
  });
  app.openapi(update, async (c) => {
    const { spec, specIndex } = c.req.valid("json");
    checkText((await c.req.json()).spec, "/spec");
    const run = c.var.objects.allocation(c.req.valid("param").id);
    return c.json(await run.update({ spec, specIndex, by: c.var.caller.by }), 200);
  });
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid("param");
    const isForced = isOn(c.req.valid("query").force);
    const run = c.var.objects.allocation(id);
    const forcedAbort = {
      reason: "it is deleted by force",
      by: c.var.caller.by,
      force: true,
      waitMs: FORCED_WAIT_MS,
    };
    const status = await (isForced ? run.abort(forcedAbort) : run.read());
    const { state, pool, submittedAt } = status;
    if (!isTerminal(state)) {
      const then = isForced ? "it is being ended by force; retry" : "abort it";
      const text = `the run "${id}" is ${state}; ${then}, and delete it when it has ended`;
      throw new DroverError("not_terminal", text);
    }
    await letGo(run, status, c.var.caller.by);
    const ref = { run: status.id, submittedAt: Date.parse(submittedAt) };
    await c.var.objects.pool(pool).forget(ref, c.var.caller.by);
    return c.body(null, 204);
  });
  app.openapi(why, async (c) => c.json(await c.var.objects.allocation(c.req.valid("param").id).why(), 200));
  app.openapi(stats, async (c) => {
    const run = c.var.objects.allocation(c.req.valid("param").id);
    return c.json(await run.stats(c.req.valid("query").task), 200);
  });
}
