// The route that has parked runs of a job run again (jobs.md#redrive).
import { MAX_REDRIVEN, RedriveJobRequest, RedrivenList } from "../../schema/job/redrive.ts";
import { JOB_LABELS } from "../../shared/jobs/labels.ts";
import { RUN_STATES } from "../../shared/run-state.ts";
import { projectOf, submitterOf } from "../access/caller.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { invalid } from "../http/invalid.ts";
import { inParallel } from "../http/parallel.ts";
import { asDroverError } from "../http/problem.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, jsonBody } from "../openapi/params.ts";
import { Cursor } from "../query/cursor.ts";
import { answerQuery } from "../query/run-query.ts";
import { idsOf, limitsRuns } from "../walls/run-limits.ts";
import { JobPath, jobOf } from "./jobs.ts";

const redrive = operation({
  method: "post",
  path: "/v1/jobs/{name}/redrive",
  operationId: "redriveJob",
  access: "jobs:trigger",
  tag: "Jobs",
  codes: ["unknown_job"],
  summary: "Run parked runs of a job again, some or all",
  description:
    "Each runs again once, as another run of the same job, version and tick, however often this is asked " +
    "for. One request has at most 100 runs; for the others, call again with `next` as " +
    "the `cursor`. The parked runs of a job are listed by `GET /v1/runs` with its label and `parked`.",
  request: { params: JobPath, body: jsonBody(RedriveJobRequest) },
  responses: { 200: jsonAnswer("what became of each run", RedrivenList) },
});

/** Adds the route that has parked runs of a job run again (jobs.md#redrive). */
export function jobRedriveRoute(app: EdgeApp): void {
  app.openapi(redrive, async (c) => {
    const { name } = c.req.valid("param");
    const { runs, failed, next, service } = await chosen(c, name, c.req.valid("json"));
    const { by, budget } = submitterOf(c.var.caller);
    const asked = await jobOf(c, name).redrive({ runs, by, budget });
    return c.json({ items: asked.items, failed: [...failed, ...asked.failed], next, service }, 200);
  });
}

type Chosen = Omit<RedrivenList, "items"> & { runs: string[] };

/** The runs that are meant. A run that does not exist for the caller is in `failed`. */
async function chosen(c: EdgeContext, name: string, request: RedriveJobRequest): Promise<Chosen> {
  const { runs, limit = MAX_REDRIVEN, cursor } = request;
  const { caller, objects, pools } = c.var;
  if (runs !== undefined) return named(c, runs);
  const { items, next, service } = await answerQuery(objects, {
    states: [...RUN_STATES],
    labels: { [JOB_LABELS.job]: name },
    search: { parked: true },
    pools: await pools.names(),
    onlyThesePools: false,
    all: false,
    waitMs: 0,
    limit,
    position: cursor === undefined ? undefined : positionOf(cursor),
    hidesRuns: limitsRuns(caller.limits),
  });
  // The secret of the deployment sees the runs of all projects.
  const own = items.filter(({ project }) => project === projectOf(caller));
  return { runs: own.map(({ id }) => id), failed: [], next, service };
}

/** Runs by their ids, as far as they exist for the caller: limits of a token hide some. */
async function named({ var: { caller, objects } }: EdgeContext, runs: readonly string[]): Promise<Chosen> {
  const ids = [...new Set(idsOf(caller, runs))];
  const found = await inParallel(ids, async (id) => {
    try {
      await objects.allocation(id).read();
      return undefined;
    } catch (cause) {
      const error = asDroverError(cause);
      if (error.code === "internal") throw cause;
      return { id, code: error.code, detail: error.message };
    }
  });
  const there = ids.filter((_, index) => found[index] === undefined);
  return { runs: there, failed: found.flatMap((one) => one ?? []), next: null, service: [] };
}

function positionOf(cursor: string) {
  const position = Cursor.safeParse(cursor);
  if (position.success) return position.data;
  throw invalid([{ pointer: "/cursor", detail: "must be the `next` of an earlier answer, unchanged" }]);
}
