// The route that has a parked run run again (retry.md#redrive).
import { RunStatus } from "../../schema/run/run.ts";
import { redriveRun } from "../../shared/retry/redrive.ts";
import { submitterOf } from "../access/caller.ts";
import type { EdgeApp } from "../edge.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, RunParams } from "../openapi/params.ts";
import { checkSecrets } from "../runs/submit/submission-secrets.ts";
import { checkSnapshots } from "../runs/submit/submission-snapshots.ts";
import { refuseHidden } from "../walls/hidden-values.ts";
import { refuseSecrets, withinLimits } from "../walls/run-limits.ts";

const redrive = operation({
  method: "post",
  path: "/v1/runs/{id}/redrive",
  operationId: "redriveRun",
  access: "runs:write",
  tag: "Runs",
  codes: [
    "unknown_run",
    "expired_run",
    "not_parked",
    "run_exists",
    "unknown_pool",
    "unknown_snapshot",
    "unknown_secret",
    "no_bucket",
    "pool_draining",
    "project_full",
    "unsatisfiable",
    "host_paths_not_allowed",
    "fake_driver_not_allowed",
    "container_not_allowed",
    "concurrency_held",
    "concurrency_full",
    "busy",
    "not_acknowledged",
  ],
  summary: "Run a parked run again",
  description:
    "Submits its spec as another run, and notes that run as `redriven`: then it is parked no more. The id " +
    "of that run follows from the parked one, so however often this is asked for, there is one such run.",
  request: { params: RunParams },
  responses: {
    200: jsonAnswer("the run that repeats it existed already", RunStatus),
    201: jsonAnswer("the run that repeats it; `Location` is its path", RunStatus, ["Location"]),
  },
});

/** Adds the route that has a parked run run again (retry.md#redrive). */
export function redriveRoute(app: EdgeApp): void {
  app.openapi(redrive, async (c) => {
    const { caller, objects } = c.var;
    const parked = await objects.allocation(c.req.valid("param").id).read();
    const { by, budget } = submitterOf(caller);
    const who = { by, budget, project: parked.project };
    const { created, status } = await redriveRun(objects, parked, who, async ({ id, hash, spec }) => {
      refuseHidden(spec, "");
      withinLimits(spec, caller.limits, "");
      refuseSecrets(spec, caller, "");
      const candidates = [{ id, hash, spec, fresh: false }];
      await checkSnapshots(objects, candidates, { batch: false, ...who });
      await checkSecrets(objects, candidates, { batch: false, ...who });
    });
    if (!created) return c.json(status, 200);
    c.header("Location", `/v1/runs/${status.id}`);
    return c.json(status, 201);
  });
}
