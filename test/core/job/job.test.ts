import { describe, expect, test } from "vitest";
import { type JobParts, jobProblems, specOfRun } from "../../../src/core/job/params/job.ts";
import { JobMeta } from "../../../src/schema/job/inputs.ts";
import { JobParams } from "../../../src/schema/job/params.ts";
import { schedule } from "./support/schedule.ts";
import { JOB, spec } from "./support/spec.ts";

const NOW = Date.parse("2026-11-22T12:00:00Z");

/** What is wrong with a job: `/field: why`. */
function problemsOf(parts: Partial<JobParts>): string[] {
  const job = { spec: spec({}), ...parts };
  return jobProblems(job, NOW).map(({ pointer, detail }) => `${pointer}: ${detail}`);
}

const required = JobParams.parse({ x: { type: "string", required: true } });
const optional = JobParams.parse({ x: { type: "string", default: "d" } });

describe("what a job says must fit together (jobs.md#refused)", () => {
  test.each<[string, Partial<JobParts>, string[]]>([
    ["a command alone", {}, []],
    [
      "a schedule with defaults",
      { schedule: schedule("@daily"), params: optional, payload: "optional", payloadFile: "in" },
      [],
    ],
    [
      "required values without a schedule",
      { params: required, meta: JobMeta.parse({ required: ["a"] }) },
      [],
    ],
    [
      "a schedule that never fires",
      { schedule: schedule("0 0 31 2 *") },
      ["/schedule/cron: has no tick within"],
    ],
    [
      "a default of another type",
      { params: JobParams.parse({ x: { type: "integer", default: "" } }) },
      ["/params/x/default: must"],
    ],
    [
      "an unknown parameter",
      { spec: spec({ labels: { a: "${param.y}" } }) },
      ["/spec/labels/a: has ${param.y}, and the"],
    ],
    [
      "given metadata in a script",
      { spec: spec({ argv: ["sh", "-c", "${meta.a}"] }), meta: JobMeta.parse({ optional: ["a"] }) },
      ["/spec/argv/2: has ${meta.a} within a script"],
    ],
    ["a payload without a file", { payload: "optional" }, ["/payloadFile: must name a file"]],
    [
      "a file without a payload",
      { payloadFile: "in" },
      ['/payloadFile: needs `payload: "required"` or "optional"'],
    ],
    [
      "a file of a payload that is forbidden",
      { payload: "forbidden", payloadFile: "in" },
      ["/payloadFile: needs"],
    ],
    [
      "a schedule, and required values",
      {
        schedule: schedule("@daily"),
        params: required,
        meta: JobMeta.parse({ required: ["a", "b"] }),
        payload: "required",
        payloadFile: "in",
      },
      [
        "/params/x/required: is required, and a tick of the schedule gives none: use `default` instead",
        "/meta/required/0: is required, and a tick of the schedule gives none: move it to `optional`",
        "/meta/required/1: is required",
        '/payload: is required, and a tick of the schedule gives none: make it "optional"',
      ],
    ],
  ])("%s", (_what, parts, problems) => {
    expect(problemsOf(parts)).toEqual(problems.map((problem) => expect.stringContaining(problem)));
  });
});

describe("the spec of a run (jobs.md#filling-in)", () => {
  const job: JobParts = {
    spec: spec({
      argv: ["echo", "${param.x}"],
      meta: { team: "${job.name}", note: "none" },
      env: { A: "${param.x}${HOME}" },
    }),
    params: optional,
    meta: JobMeta.parse({ required: ["customer"], optional: ["note"] }),
  };

  test("has what it was given, and the defaults", () => {
    const made = specOfRun(job, { meta: { customer: "${HOME}" } }, JOB);
    expect(made.values).toEqual({
      ...job.spec,
      argv: ["echo", "d"],
      env: { A: "d${HOME}", DROVER_PARAM_X: "d" },
      meta: { team: "nightly", note: "", customer: "$${HOME}" },
    });
  });

  test("all that is wrong with what was given is said at once", () => {
    expect(specOfRun(job, { params: { y: 1 }, meta: { other: "" } }, JOB).problems).toEqual([
      { pointer: "/params/y", detail: "is no parameter: the job has x" },
      { pointer: "/meta/other", detail: "is not permitted: the job permits customer, note" },
      { pointer: "/meta/customer", detail: "must be given: the job requires it" },
    ]);
    const given = { params: { x: "$" }, meta: { customer: "" } };
    expect(specOfRun(job, given, JOB).problems).toEqual([
      { pointer: "/params/x", detail: expect.stringContaining('must not end with "$"') },
    ]);
  });
});
