// Which routes list and query runs?
import { z } from "zod";
import { Name, RunId, Wait } from "../../schema/common.ts";
import { RunList, RunQuery, statesSelected } from "../../schema/run/run.ts";
import { MAX_LABELS, MAX_QUERY_IDS } from "../../shared/limits.ts";
import type { EdgeApp } from "../edge.ts";
import { invalid } from "../http/invalid.ts";
import { operation } from "../openapi/operation.ts";
import {
  Flag,
  isOn,
  jsonAnswer,
  jsonBody,
  Limit,
  repeatable,
  StateFilter,
  statesOf,
  waitMs,
} from "../openapi/params.ts";
import { idsOf, limitsRuns } from "../walls/run-limits.ts";
import { Cursor } from "./cursor.ts";
import { answerQuery } from "./run-query.ts";
import { searchFrom, searchParams } from "./run-search.ts";

/**
 * The page size of `POST /v1/runs/query` with `allRuns`. A `GET` with the answer's `next` reads the next
 * page.
 */
const ALL_RUNS_LIMIT = 1_000;

const LabelText = z
  .string()
  .regex(/^[^:]+:/, 'must be a name and a value, such as "team:x"')
  .meta({ example: "team:x" });

const answers = { 200: jsonAnswer("the runs that match", RunList) };

const list = operation({
  method: "get",
  path: "/v1/runs",
  operationId: "listRuns",
  access: "runs:read",
  tag: "Runs",
  codes: ["unknown_run", "expired_run", "unknown_pool"],
  summary: "The runs that match, newest first, or in the order of the ids",
  description:
    "Without `id` the query is about all runs. With ids the answer has no pages, and 404 `unknown_run` " +
    "names the ids that do not exist. With `wait` the answer is held until a run matches; with `wait` and " +
    "`all`, until all runs that the ids, labels, array and pool select are in one of the states. `all` in " +
    "the answer says whether they are.",
  request: {
    query: z.strictObject({
      id: repeatable(RunId).pipe(z.array(RunId).max(MAX_QUERY_IDS)).optional(),
      state: repeatable(StateFilter).optional(),
      label: repeatable(LabelText).pipe(z.array(LabelText).max(MAX_LABELS)).optional(),
      array: Name.optional().meta({ description: "only the runs of this array" }),
      pool: Name.optional(),
      ...searchParams,
      all: Flag.optional().meta({
        description: "`wait` waits until all selected runs are in one of the states",
      }),
      wait: Wait.optional(),
      limit: Limit,
      cursor: Cursor.optional(),
    }),
  },
  responses: answers,
});

const query = operation({
  method: "post",
  path: "/v1/runs/query",
  operationId: "queryRuns",
  access: "runs:read",
  tag: "Runs",
  codes: ["unknown_run", "expired_run", "unknown_pool"],
  summary: "Query runs by a long list of ids",
  description: "Without `runs` and `allRuns` nothing matches. With `allRuns`, `runs` is ignored.",
  request: { body: jsonBody(RunQuery) },
  responses: answers,
});

/** Adds the two forms of the query (api.md#query). */
export function runListRoutes(app: EdgeApp): void {
  app.openapi(list, async (c) => {
    const { id, state, label, array, pool, all, wait, limit, cursor, ...looked } = c.req.valid("query");
    if (id !== undefined && cursor !== undefined) {
      throw invalid([
        { pointer: "?cursor", detail: "cannot be used together with ids: these have no pages" },
      ]);
    }
    const question = {
      ids: id && idsOf(c.var.caller, id),
      states: statesOf(state ?? ["all"]),
      labels: labelsOf(label ?? []),
      array,
      search: searchFrom(looked, c.var.caller, { hasIds: id !== undefined, all: isOn(all) }),
      pools: pool === undefined ? await c.var.pools.names() : [pool],
      onlyThesePools: pool !== undefined,
      all: isOn(all),
      waitMs: waitMs(wait),
      limit,
      position: cursor,
      hidesRuns: limitsRuns(c.var.caller.limits),
    };
    return c.json(await answerQuery(c.var.objects, question), 200);
  });
  app.openapi(query, async (c) => {
    const { runs, allRuns, states, all, wait } = c.req.valid("json");
    const question = {
      ids: allRuns ? undefined : idsOf(c.var.caller, runs),
      states: [...statesSelected(states)],
      labels: {},
      pools: await c.var.pools.names(),
      onlyThesePools: false,
      all,
      waitMs: waitMs(wait),
      limit: ALL_RUNS_LIMIT,
      hidesRuns: limitsRuns(c.var.caller.limits),
    };
    return c.json(await answerQuery(c.var.objects, question), 200);
  });
}

function labelsOf(pairs: readonly string[]): Record<string, string> {
  const labels = new Map<string, string>();
  for (const pair of pairs) {
    const colon = pair.indexOf(":");
    const name = pair.slice(0, colon);
    if (labels.has(name)) throw invalid([{ pointer: "?label", detail: `must name "${name}" only once` }]);
    labels.set(name, pair.slice(colon + 1));
  }
  return Object.fromEntries(labels);
}
