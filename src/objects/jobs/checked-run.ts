// Is the spec of a run of a job valid, once its parameters are filled in (jobs.md#filling-in)?
import { type Cause, type Given, runOfJob } from "../../core/job/run-of-job.ts";
import type { JobFields } from "../../schema/job/job.ts";
import { RunSpec } from "../../schema/run/run-spec.ts";
import type { FieldError } from "../../shared/errors.ts";

/** The spec of a run, or what is wrong: with what it was given, or with the spec that comes of it. */
export function checkedRun(
  fields: JobFields,
  given: Given,
  cause: Cause,
): { spec: RunSpec } | { problems: FieldError[] } {
  const { values, problems = [] } = runOfJob(fields, given, cause);
  if (values === undefined) return { problems };
  const parsed = RunSpec.safeParse(values);
  if (parsed.success) return { spec: parsed.data };
  return {
    problems: parsed.error.issues.map(({ path, message }) => {
      // Whoever triggers the job gives the payload, and not the rest of the spec.
      const pointer = path[0] === "payload" ? "/payload" : `/spec/${path.join("/")}`;
      return { pointer, detail: message };
    }),
  };
}
