// The routes that restart and signal the tasks of a run (api.md#restart-and-signal).
import canonicalize from "canonicalize";
import { z } from "zod";
import type { RequestAnswer, RequestKey } from "../../objects/rpc.ts";
import { RestartRequest, RunStatus, SignalRequest } from "../../schema/run/run.ts";
import { sha256 } from "../../shared/access/key-ids.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { operation } from "../openapi/operation.ts";
import { IdempotencyKey, jsonAnswer, jsonBody, RunParams } from "../openapi/params.ts";

/** How many characters of each hash a run remembers: 128 bits. */
const ASK_HASH_CHARS = 32;

/** What both routes have in common. */
const ask = {
  method: "post",
  tag: "Runs",
  codes: ["unknown_run", "expired_run", "not_running", "terminal", "unknown_task", "idempotency_mismatch"],
  responses: { 200: jsonAnswer("the run", RunStatus, ["Idempotency-Replayed"]) },
} as const;

const target = {
  params: RunParams,
  headers: z.object({
    "idempotency-key": IdempotencyKey.optional().meta({
      description: "the same key with the same body acts once; the run remembers its latest 32",
    }),
  }),
};

const restart = operation({
  ...ask,
  path: "/v1/runs/{id}/restart",
  operationId: "restartRun",
  access: "runs:write",
  summary: "Restart tasks of a run",
  description:
    "One task, or all running tasks; with `all`, ended tasks, too, in the order of their lifecycle. " +
    "These restarts do not count towards the restart policy. Running tasks are stopped first.",
  request: { ...target, body: { content: { "application/json": { schema: RestartRequest } } } },
});

const signal = operation({
  ...ask,
  path: "/v1/runs/{id}/signal",
  operationId: "signalRun",
  access: "runs:write",
  summary: "Signal the process of a task",
  description: "One task, or all running tasks. The host sends it once, to the main process of the attempt.",
  request: { ...target, body: jsonBody(SignalRequest) },
});

/** Identifies repetitions of a request that has a key (api.md#idempotency). */
export async function askOf(
  what: string,
  body: object,
  key: string | undefined,
): Promise<RequestKey | undefined> {
  if (key === undefined) return undefined;
  const short = async (text: string) => (await sha256(text)).slice(0, ASK_HASH_CHARS);
  return { key: await short(key), hash: await short(`${what} ${canonicalize(body)}`) };
}

/** Answers with the run. A header marks the answer to a repeated request. */
function answerOf(c: EdgeContext, { status, replayed }: RequestAnswer) {
  if (replayed) c.header("Idempotency-Replayed", "true");
  return c.json(status, 200);
}

/** Adds the routes that restart and signal tasks (api.md#restart-and-signal). */
export function runAskRoutes(app: EdgeApp): void {
  app.openapi(restart, async (c) => {
    const body = c.req.valid("json");
    const key = await askOf("restart", body, c.req.valid("header")["idempotency-key"]);
    const run = c.var.objects.allocation(c.req.valid("param").id);
    return answerOf(c, await run.restart({ ...body, by: c.var.caller.by }, key));
  });
  app.openapi(signal, async (c) => {
    const body = c.req.valid("json");
    const key = await askOf("signal", body, c.req.valid("header")["idempotency-key"]);
    const run = c.var.objects.allocation(c.req.valid("param").id);
    return answerOf(c, await run.signal({ ...body, by: c.var.caller.by }, key));
  });
}
