// What is the spec of one run of a job (jobs.md#runs)?
import type { JobFields } from "../../schema/job/job.ts";
import type { JobSchedule } from "../../schema/job/schedule.ts";
import type { RunSpec } from "../../schema/run/run-spec.ts";
import type { FieldError } from "../../shared/errors.ts";
import { JOB_LABELS, JOB_VARIABLES, overlapKey } from "../../shared/jobs/labels.ts";
import { payloadBytes } from "../../shared/jobs/payload-bytes.ts";
import { MAX_SPEC_BYTES } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import { payloadProblem } from "./params/inputs.ts";
import { type Given as GivenValues, specOfRun } from "./params/job.ts";
import type { Resolved } from "./params/resolve.ts";
import { partsOf } from "./problems.ts";

/** What a run is given. */
export interface Given extends GivenValues {
  /** In base64. Absent: none. */
  payload?: string | undefined;
}

/** Which run of which version is made. */
export interface Cause {
  job: string;
  version: number;
  /** Null: no tick has caused it. */
  tick: Instant | null;
  /** The schedule has caused it, and its `overlap` counts. */
  isScheduled: boolean;
}

/**
 * The spec of a run: parameters filled in, `meta` and the payload added, and labels and variables that say
 * which job it is of (jobs.md#labels). It is to be checked by the schema of a run. Problems have pointers
 * into what was given (`/params/branch`).
 */
export function runOfJob(fields: JobFields, given: Given, cause: Cause): Resolved<RunSpec> {
  const { job: name, version, tick } = cause;
  const detail = payloadProblem(
    fields.payload,
    given.payload === undefined ? undefined : payloadBytes(given.payload),
  );
  const of = { name, version, tick: tick === null ? "" : iso(tick) };
  const { problems = [], values } = specOfRun(partsOf(fields), given, of);
  if (detail !== undefined) return { problems: [...problems, { pointer: "/payload", detail }] };
  if (values === undefined) return { problems };
  const spec: RunSpec = {
    ...values,
    labels: { ...values.labels, ...labelsOf(cause) },
    env: { ...values.env, ...variablesOf(cause) },
    ...payloadOf(fields, given),
    ...overlapOf(fields, cause),
  };
  const tooLarge = sizeProblem(spec);
  return tooLarge === undefined ? { values: spec } : { problems: [tooLarge] };
}

/** A run of a job is as large as any other at most, with all that was filled in. */
function sizeProblem(spec: RunSpec): FieldError | undefined {
  const bytes = new TextEncoder().encode(JSON.stringify(spec)).length;
  if (bytes <= MAX_SPEC_BYTES) return undefined;
  const detail = `has ${bytes} bytes as JSON with all that is filled in; a run has at most ${MAX_SPEC_BYTES}`;
  return { pointer: "/spec", detail };
}

/** By these labels the runs of a job are found (jobs.md#labels). */
function labelsOf({ job, version, tick }: Cause): Record<string, string> {
  return {
    [JOB_LABELS.job]: job,
    [JOB_LABELS.version]: String(version),
    ...(tick === null ? {} : { [JOB_LABELS.tick]: iso(tick) }),
  };
}

function variablesOf({ job, version, tick }: Cause): Record<string, string> {
  return {
    [JOB_VARIABLES.job]: job,
    [JOB_VARIABLES.version]: String(version),
    ...(tick === null ? {} : { [JOB_VARIABLES.tick]: iso(tick) }),
  };
}

function payloadOf({ payloadFile }: JobFields, { payload }: Given): Pick<RunSpec, "payload"> {
  return payload === undefined || payloadFile === undefined
    ? {}
    : { payload: { path: payloadFile, content: payload } };
}

/** What `overlap` is in terms of a concurrency key, which all scheduled runs of the job share. */
const STRATEGIES = {
  skip: "cancel-new",
  "queue-one": "queue-one",
  "queue-all": "queue",
  cancel: "cancel-running",
} as const satisfies Record<Exclude<JobSchedule["overlap"], "allow">, string>;

function overlapOf({ schedule, spec }: JobFields, cause: Cause): Pick<RunSpec, "concurrency"> {
  if (!cause.isScheduled || schedule === undefined || schedule.overlap === "allow") return {};
  if (spec.concurrency !== undefined) return {};
  return { concurrency: { key: overlapKey(cause.job), limit: 1, strategy: STRATEGIES[schedule.overlap] } };
}
