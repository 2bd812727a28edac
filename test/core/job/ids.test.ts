import { expect, test } from "vitest";
import { tickRunId, triggeredRunId } from "../../../src/core/job/ids.ts";
import { problemsOf } from "../../../src/core/job/problems.ts";
import { RunId } from "../../../src/schema/common.ts";
import { JobFields } from "../../../src/schema/job/job.ts";
import { MAX_TRIGGER_KEY_CHARS } from "../../../src/shared/jobs/limits.ts";

// The runs of a job have ids that begin with the names of project and job, and that every route takes
// (jobs.md#ids).

test.each([
  ["default", 40, true],
  ["platform", 34, true],
  ["platform", 35, false],
])("in the project %s a name of %i characters: is taken %s", (project, length, isTaken) => {
  const fields = JobFields.parse({ spec: { argv: ["true"] } });
  const name = "n".repeat(length);
  const ids = [tickRunId(project, name, 0), triggeredRunId(project, name, "k".repeat(MAX_TRIGGER_KEY_CHARS))];
  expect(ids.every((id) => RunId.safeParse(id).success)).toBe(isTaken);
  const pointers = problemsOf({ name, project, fields }, 0).map(({ pointer }) => pointer);
  expect(pointers).toEqual(isTaken ? [] : ["/name"]);
});
