// The routes of jobs: list, read, store, remove, pause, resume (jobs.md#the-job).
import { z } from "zod";
import {
  Job,
  type JobFields,
  JobList,
  JobVersionList,
  PutJobRequest,
  ResumeRequest,
} from "../../schema/job/job.ts";
import { JobName } from "../../schema/job/name.ts";
import type { RunSpec } from "../../schema/run/run-spec.ts";
import { nameIn } from "../../shared/access/project.ts";
import { DroverError } from "../../shared/errors.ts";
import { type Caller, namedBy, projectOf, submitterOf } from "../access/caller.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, jsonBody } from "../openapi/params.ts";
import { checkText } from "../runs/submit/submission.ts";
import { refuseHidden } from "../walls/hidden-values.ts";
import { limitsRuns, maySeeJob, secretsIn, unknownPool } from "../walls/run-limits.ts";

export const JobPath = z.object({ name: JobName.describe("the job's name") });

const list = operation({
  method: "get",
  path: "/v1/jobs",
  operationId: "listJobs",
  access: "runs:read",
  tag: "Jobs",
  summary: "All jobs, by name, each with its next tick",
  responses: { 200: jsonAnswer("the jobs", JobList) },
});

const read = operation({
  method: "get",
  path: "/v1/jobs/{name}",
  operationId: "getJob",
  access: "runs:read",
  tag: "Jobs",
  codes: ["unknown_job"],
  summary: "One job: its present version, its next ticks, and those that have no run",
  request: { params: JobPath },
  responses: { 200: jsonAnswer("the job", Job) },
});

const put = operation({
  method: "put",
  path: "/v1/jobs/{name}",
  operationId: "putJob",
  access: "jobs:write",
  tag: "Jobs",
  codes: ["busy", "not_acknowledged", "unknown_pool", "unknown_secret", "unknown_job", "beyond_limits"],
  summary: "Store a job: what it runs, which values a run can be given, and when it runs by itself",
  description:
    "Other fields make another version; the same fields change nothing. `paused` pauses or resumes the job " +
    "by the same request, and makes no version. A tick that has come has a run of " +
    "the version of then. Ticks count from now on if the schedule has other ones than before.",
  request: { params: JobPath, body: jsonBody(PutJobRequest) },
  responses: {
    200: jsonAnswer("the job, which existed", Job),
    201: jsonAnswer("the job, which is new", Job, ["Location"]),
  },
});

const remove = operation({
  method: "delete",
  path: "/v1/jobs/{name}",
  operationId: "deleteJob",
  access: "jobs:write",
  tag: "Jobs",
  codes: ["unknown_job", "job_in_use", "not_acknowledged"],
  summary: "Remove a job; its runs stay, and end as they would",
  request: { params: JobPath },
  responses: { 204: { description: "it is removed" } },
});

const versions = operation({
  method: "get",
  path: "/v1/jobs/{name}/versions",
  operationId: "listJobVersions",
  access: "runs:read",
  tag: "Jobs",
  codes: ["unknown_job"],
  summary: "The versions of a job that are kept, newest first",
  request: { params: JobPath },
  responses: { 200: jsonAnswer("the versions", JobVersionList) },
});

const pause = operation({
  method: "post",
  path: "/v1/jobs/{name}/pause",
  operationId: "pauseJob",
  access: "jobs:write",
  tag: "Jobs",
  codes: ["unknown_job"],
  summary: "Skip the ticks of a job until it is resumed; it can still be triggered",
  request: { params: JobPath },
  responses: { 200: jsonAnswer("the job", Job) },
});

const resume = operation({
  method: "post",
  path: "/v1/jobs/{name}/resume",
  operationId: "resumeJob",
  access: "jobs:write",
  tag: "Jobs",
  codes: ["unknown_job"],
  summary: "End the pause of a job; ticks count from now on, unless `makeUp` says otherwise",
  request: { params: JobPath, body: jsonBody(ResumeRequest) },
  responses: { 200: jsonAnswer("the job", Job) },
});

/** The caller's job of this name, as an object. */
export function jobOf({ var: { caller, objects } }: EdgeContext, name: string) {
  return objects.job(nameIn(projectOf(caller), name, "."));
}

/** Adds the routes of jobs (jobs.md#the-job). */
export function jobRoutes(app: EdgeApp): void {
  app.openapi(list, async (c) => {
    const { caller, objects } = c.var;
    const jobs = await objects.registry().jobs(caller.project);
    const { limits } = caller;
    const items = jobs.filter((job) => maySeeJob(limits, job));
    return c.json({ items, next: null }, 200);
  });
  app.openapi(read, async (c) => c.json(await jobOf(c, c.req.valid("param").name).read(), 200));
  app.openapi(put, async (c) => {
    const { name } = c.req.valid("param");
    const { paused, ...fields } = c.req.valid("json");
    const { caller, objects } = c.var;
    checkText(await c.req.json(), "");
    await refuseFields(c, fields);
    const named = namedBy(caller, name);
    const after = await followedBy(c, fields);
    await objects.registry().admitJob(named, after);
    const { by, budget } = submitterOf(caller);
    const { created, job } = await jobOf(c, name).put({ ...named, fields, paused, by, budget });
    if (!created) return c.json(job, 200);
    c.header("Location", `/v1/jobs/${name}`);
    return c.json(job, 201);
  });
  app.openapi(remove, async (c) => {
    const { name } = c.req.valid("param");
    const { caller, objects } = c.var;
    const job = jobOf(c, name);
    // Who must not see the job learns nothing of those that follow it.
    if (limitsRuns(caller.limits)) await job.read();
    await objects.registry().refuseFollowedJob(namedBy(caller, name));
    await job.remove(caller.by);
    return c.body(null, 204);
  });
  app.openapi(versions, async (c) => {
    const items = await jobOf(c, c.req.valid("param").name).versions();
    return c.json({ items, next: null }, 200);
  });
  app.openapi(pause, async (c) =>
    c.json(await jobOf(c, c.req.valid("param").name).pause(c.var.caller.by), 200),
  );
  app.openapi(resume, async (c) => {
    const { makeUp } = c.req.valid("json");
    return c.json(await jobOf(c, c.req.valid("param").name).resume(makeUp, c.var.caller.by), 200);
  });
}

/** The jobs that a job follows. Throws `unknown_job` for one that does not exist for the caller. */
async function followedBy(c: EdgeContext, { spec }: JobFields): Promise<string[]> {
  const names = (spec.after ?? []).map(({ job }) => job);
  if (limitsRuns(c.var.caller.limits)) for (const name of names) await jobOf(c, name).read();
  return names;
}

/** Throws for a pool or a secret that does not exist (jobs.md#put). */
async function refuseFields(c: EdgeContext, fields: JobFields): Promise<void> {
  const { caller, objects, pools } = c.var;
  // A spec of a job has no field that a run lacks.
  const spec = fields.spec as RunSpec;
  refuseHidden(spec, "/spec");
  if (!(await pools.names()).includes(spec.pool)) throw unknownPool(spec.pool);
  await refuseUnknownSecrets(caller, objects, spec);
}

async function refuseUnknownSecrets(
  caller: Caller,
  objects: EdgeContext["var"]["objects"],
  spec: RunSpec,
): Promise<void> {
  const named = secretsIn(spec, "/spec");
  if (named.length === 0) return;
  const names = [...new Set(named.map(({ secret }) => secret))];
  const missing = await objects.registry().missingSecrets(projectOf(caller), names);
  const fields = named
    .filter(({ secret }) => missing.includes(secret))
    .map(({ secret, pointer }) => ({
      pointer,
      detail: `names the secret "${secret}", which does not exist`,
    }));
  const [first] = fields;
  if (first !== undefined)
    throw new DroverError("unknown_secret", `${first.pointer} ${first.detail}: set it first`, { fields });
}
