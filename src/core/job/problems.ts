// What in a job can nobody have meant? It is refused when the job is stored (jobs.md#put).
import type { JobFields, Previewed } from "../../schema/job/job.ts";
import type { FieldError } from "../../shared/errors.ts";
import { MAX_TRIGGER_KEY_CHARS } from "../../shared/jobs/limits.ts";
import { MAX_RUN_ID_CHARS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { tickRunId, triggeredRunId } from "./ids.ts";
import { type JobParts, jobProblems } from "./params/job.ts";
import { scheduleProblems } from "./schedule/parse.ts";

/** What is wrong with a job, with pointers into its fields. Empty: nothing. `at`: the present. */
export function problemsOf(
  { name, project, fields }: { name: string; project: string; fields: JobFields },
  at: Instant,
): FieldError[] {
  return [...jobProblems(partsOf(fields), at), ...overlapProblems(fields), ...idProblems(project, name)];
}

/** The same of a preview (jobs.md#preview), with pointers into the request. Empty: nothing is wrong. */
export function previewProblems(
  named: { name: string; project: string },
  { schedule, fields }: Previewed,
  at: Instant,
): FieldError[] {
  const below = (field: string) => (one: FieldError) => ({ ...one, pointer: `/${field}${one.pointer}` });
  const ofFields = fields === undefined ? [] : problemsOf({ ...named, fields }, at);
  const ofSchedule = schedule === undefined ? [] : scheduleProblems(schedule, at);
  return [...ofFields.map(below("fields")), ...ofSchedule.map(below("schedule"))];
}

/** The fields as the rules of parameters see them. */
export function partsOf(fields: JobFields): JobParts {
  // A spec of a job has no field that a run lacks; what differs is checked with each run.
  return { ...fields, spec: fields.spec as JobParts["spec"] };
}

function overlapProblems({ schedule, spec }: JobFields): FieldError[] {
  if (schedule === undefined || schedule.overlap === "allow" || spec.concurrency === undefined) return [];
  const detail =
    "must be `allow`, since `concurrency` of the spec says what happens while an earlier run has not ended";
  return [{ pointer: "/schedule/overlap", detail }];
}

/** Ids of runs have a longest length, and begin with the names of project and job. */
function idProblems(project: string, name: string): FieldError[] {
  const longestKey = "k".repeat(MAX_TRIGGER_KEY_CHARS);
  const ids = [tickRunId(project, name, 0), triggeredRunId(project, name, longestKey)];
  const [id = ""] = ids.sort((a, b) => b.length - a.length);
  if (id.length <= MAX_RUN_ID_CHARS) return [];
  const most = MAX_RUN_ID_CHARS - (id.length - name.length);
  return [{ pointer: "/name", detail: `must have at most ${most} characters in the project ${project}` }];
}
