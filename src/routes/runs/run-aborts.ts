// The route that aborts many runs (api.md#abort-of-many).
import type { z } from "zod";
import type { Objects } from "../../objects/rpc.ts";
import { AbortedList, AbortManyRequest, type RunSummary, statesSelected } from "../../schema/run/run.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { invalid } from "../http/invalid.ts";
import { inParallel } from "../http/parallel.ts";
import { asDroverError, hasCode } from "../http/problem.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, jsonBody } from "../openapi/params.ts";
import { Cursor } from "../query/cursor.ts";
import { answerQuery } from "../query/run-query.ts";
import { idsOf, limitsRuns } from "../walls/run-limits.ts";

/** The default `limit`. */
const MOST_AT_ONCE = 1_000;

const abortMany = operation({
  method: "post",
  path: "/v1/runs/abort",
  operationId: "abortRuns",
  access: "runs:write",
  tag: "Runs",
  codes: ["unknown_run", "expired_run", "unknown_pool"],
  summary: "Stop many runs",
  description:
    "Aborts runs that match all of `ids`, `labels`, `array` and `pool` and have not ended; if none of them " +
    "is given, `all` must be true. Idempotent. One call aborts at most `limit` runs; to abort the others, " +
    "call again with `next` as the `cursor`.",
  request: { body: jsonBody(AbortManyRequest) },
  responses: { 200: jsonAnswer("the runs that were asked to end", AbortedList) },
});

/** Adds the route that ends many runs (api.md#abort-of-many). */
export function runAbortsRoute(app: EdgeApp): void {
  app.openapi(abortMany, async (c) => {
    const { reason = "", force = false, ...filter } = c.req.valid("json");
    const { items, next, service } = await select(c, filter);
    const { objects } = c.var;
    const outcomes = await inParallel(items, (run) =>
      abortOne(objects, run, { reason, force, by: c.var.caller.by }),
    );
    return c.json({ ...partition(outcomes), next, service }, 200);
  });
}

type Outcome = { run: AbortedList["items"][number] } | { failed: AbortedList["failed"][number] } | undefined;

/** The runs to abort in this call. */
async function select(c: EdgeContext, filter: Omit<z.output<typeof AbortManyRequest>, "reason" | "force">) {
  const { ids, labels, array, pool, states, cursor, limit = MOST_AT_ONCE } = filter;
  const live = [...statesSelected(states)].filter((state) => state === "pending" || state === "running");
  const { objects } = c.var;
  return answerQuery(objects, {
    ids: ids === undefined ? undefined : [...new Set(idsOf(c.var.caller, ids))],
    labels,
    array,
    states: live,
    pools: pool === undefined ? await c.var.pools.names() : [pool],
    onlyThesePools: pool !== undefined,
    all: false,
    waitMs: 0,
    limit,
    position: cursor === undefined ? undefined : positionOf(cursor),
    hidesRuns: limitsRuns(c.var.caller.limits),
  });
}

function positionOf(cursor: string) {
  const position = Cursor.safeParse(cursor);
  if (position.success) return position.data;
  throw invalid([{ pointer: "/cursor", detail: "must be the `next` of an earlier answer, unchanged" }]);
}

/** Aborts one run. Undefined if the run has been deleted in the meantime: then nothing is left to abort. */
async function abortOne(
  objects: Objects,
  { id }: RunSummary,
  how: { reason: string; by: string; force: boolean },
): Promise<Outcome> {
  try {
    const { state } = await objects.allocation(id).abort({ ...how, waitMs: 0 });
    return { run: { id, state } };
  } catch (cause) {
    if (hasCode(cause, "unknown_run") || hasCode(cause, "expired_run")) return undefined;
    const error = asDroverError(cause);
    if (error.code === "internal") throw cause;
    return { failed: { id, code: error.code, detail: error.message } };
  }
}

function partition(outcomes: readonly Outcome[]): Pick<AbortedList, "items" | "failed"> {
  const items = outcomes.flatMap((one) => (one !== undefined && "run" in one ? [one.run] : []));
  const failed = outcomes.flatMap((one) => (one !== undefined && "failed" in one ? [one.failed] : []));
  return { items, failed };
}
