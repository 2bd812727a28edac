// Does what a job says fit together, and what is the spec of one run of it?
import type { JobMeta, JobPayload } from "../../../schema/job/inputs.ts";
import type { JobParams, ParamValues } from "../../../schema/job/params.ts";
import type { JobSchedule } from "../../../schema/job/schedule.ts";
import type { RunSpec } from "../../../schema/run/run.ts";
import type { FieldError } from "../../../shared/errors.ts";
import type { Instant } from "../../../shared/machine.ts";
import { scheduleProblems } from "../schedule/parse.ts";
import { applyParams, withMeta } from "./apply.ts";
import { templateProblems } from "./check.ts";
import type { Filling } from "./fill.ts";
import { resolveMeta } from "./inputs.ts";
import { paramsProblems, type Resolved, resolveParams } from "./resolve.ts";

/** The parts of a job that say when and with what its runs are made. */
export interface JobParts {
  spec: RunSpec;
  schedule?: JobSchedule | undefined;
  params?: JobParams | undefined;
  meta?: JobMeta | undefined;
  payload?: JobPayload | undefined;
  payloadFile?: string | undefined;
}

/** What one run of a job is given. A tick gives nothing. */
export interface Given {
  params?: ParamValues | undefined;
  meta?: Record<string, string> | undefined;
}

/**
 * What is wrong with a job whose fields are valid by themselves, with pointers into the job
 * (`/schedule/zone`, `/params/x/default`, `/spec/argv/2`). Empty: nothing. `at`: the present instant
 * (jobs.md#refused).
 */
export function jobProblems(job: JobParts, at: Instant): FieldError[] {
  const { spec, schedule, params = {}, meta } = job;
  const metaKeys = [...(meta?.required ?? []), ...(meta?.optional ?? [])];
  return [
    ...below("/schedule", schedule === undefined ? [] : scheduleProblems(schedule, at)),
    ...below("/params", paramsProblems(params)),
    ...below("/spec", templateProblems(spec, { params: Object.keys(params), metaKeys })),
    ...fileProblems(job),
    ...(schedule === undefined ? [] : tickProblems(job)),
  ];
}

/**
 * The spec of one run of a job, or what is wrong with what it was given, with pointers into that
 * (`/params/x`, `/meta/customer`). It is to be checked by the schema of a run (jobs.md#filling-in).
 */
export function specOfRun(job: JobParts, given: Given, of: Filling["job"]): Resolved<RunSpec> {
  const params = resolveParams(job.params ?? {}, given.params ?? {});
  const meta = resolveMeta(job.meta, given.meta ?? {});
  const problems = [...below("/params", params.problems ?? []), ...below("/meta", meta.problems ?? [])];
  if (params.values === undefined || meta.values === undefined) return { problems };
  const spec = applyParams(job.spec, { params: params.values, job: of });
  if (spec.values === undefined) return { problems: below("/params", spec.problems) };
  return { values: { ...spec.values, meta: withMeta(spec.values.meta, meta.values) } };
}

function below(place: string, problems: FieldError[]): FieldError[] {
  return problems.map(({ pointer, detail }) => ({ pointer: `${place}${pointer}`, detail }));
}

/** A payload needs a file, and a file needs a payload. */
function fileProblems({ payload = "forbidden", payloadFile }: JobParts): FieldError[] {
  if (payload !== "forbidden" && payloadFile === undefined)
    return [{ pointer: "/payloadFile", detail: "must name a file, since the runs get a payload" }];
  if (payload === "forbidden" && payloadFile !== undefined)
    return [{ pointer: "/payloadFile", detail: 'needs `payload: "required"` or "optional"' }];
  return [];
}

/** A tick gives a run no values, so it must not need any (jobs.md#refused). */
function tickProblems({ params = {}, meta, payload }: JobParts): FieldError[] {
  const detail = "is required, and a tick of the schedule gives none";
  const problems = Object.entries(params).flatMap(([name, { required }]) =>
    required === true
      ? [{ pointer: `/params/${name}/required`, detail: `${detail}: use \`default\` instead` }]
      : [],
  );
  for (const i of (meta?.required ?? []).keys())
    problems.push({ pointer: `/meta/required/${i}`, detail: `${detail}: move it to \`optional\`` });
  if (payload === "required") problems.push({ pointer: "/payload", detail: `${detail}: make it "optional"` });
  return problems;
}
