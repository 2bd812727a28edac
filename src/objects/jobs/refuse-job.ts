// What is a job refused for when it is stored, or looked at before that (jobs.md#refused)?
import { previewProblems, problemsOf } from "../../core/job/problems.ts";
import type { Named } from "../../core/registry/projects.ts";
import type { JobFields, Previewed } from "../../schema/job/job.ts";
import { DroverError, type FieldError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";
import { checkedRun } from "./checked-run.ts";

/** Throws `invalid_request` with pointers into the fields if no run of such a job could be meant. */
export function refuseJob(job: Named & { fields: JobFields }, now: Instant): void {
  refuse(problemsOf(job, now));
  refuse(problemsOfTicks(job.name, job.fields));
}

/** The same of a preview, with pointers into the request. */
export function refusePreview(job: Named, shown: Previewed, now: Instant): void {
  refuse(previewProblems(job, shown, now));
  if (shown.fields === undefined) return;
  const found = problemsOfTicks(job.name, shown.fields);
  refuse(found.map((one) => ({ ...one, pointer: `/fields${one.pointer}` })));
}

/**
 * What is wrong with the run of each tick: a tick gives no values, so what would refuse one would refuse all,
 * at night.
 */
function problemsOfTicks(job: string, fields: JobFields): FieldError[] {
  if (fields.schedule === undefined) return [];
  const anyTick = { job, version: Number.MAX_SAFE_INTEGER, tick: 0, isScheduled: true };
  const found = checkedRun(fields, {}, anyTick);
  if (!("problems" in found)) return [];
  return found.problems.map(({ pointer, detail }) => ({ pointer, detail: `${detail} ${IN_TICKS}` }));
}

const IN_TICKS =
  "(in the run of each tick: with the defaults of parameters, and the labels and variables of the job)";

function refuse(fields: FieldError[]): void {
  const [first] = fields;
  if (first === undefined) return;
  throw new DroverError("invalid_request", `${first.pointer} ${first.detail}`, { fields });
}
