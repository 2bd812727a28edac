import { describe, expect, test } from "vitest";
import { payloadProblem, resolveMeta } from "../../../src/core/job/params/inputs.ts";
import { JobMeta, PayloadFile, PayloadInput } from "../../../src/schema/job/inputs.ts";
import { MAX_PAYLOAD_BYTES } from "../../../src/shared/jobs/limits.ts";
import { MAX_LABELS } from "../../../src/shared/limits.ts";

describe("a payload (jobs.md#payload)", () => {
  test.each([
    ["required", undefined, "must be given: the job requires a payload"],
    ["required", 0, undefined],
    ["required", 1, undefined],
    ["optional", undefined, undefined],
    ["optional", 1, undefined],
    ["optional", MAX_PAYLOAD_BYTES, undefined],
    [
      "optional",
      MAX_PAYLOAD_BYTES + 1,
      `must have at most ${MAX_PAYLOAD_BYTES} bytes, not ${MAX_PAYLOAD_BYTES + 1}`,
    ],
    ["forbidden", undefined, undefined],
    ["forbidden", 0, "must be absent: the job takes no payload"],
    [undefined, undefined, undefined],
    [undefined, 1, "must be absent: the job takes no payload"],
  ] as const)("%s, and %s bytes: %s", (rule, bytes, problem) => {
    const found = payloadProblem(rule, bytes);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });

  test.each([
    ["input.json", true],
    ["local/in put", true],
    ["./input", true],
    ["", false],
    [".", false],
    ["in/..", false],
    ["in/.", false],
    ["n".repeat(255), true],
    ["n".repeat(256), false],
    [`${"é".repeat(127)}n/input`, true],
    [`${"é".repeat(128)}/input`, false],
    ["input/", false],
    ["/etc/passwd", false],
    ["../input", false],
    ["a/../../input", false],
    ["a\0b", false],
  ])("the file %j is taken: %j", (path, taken) => {
    expect(PayloadFile.safeParse(path).success).toBe(taken);
  });

  test("is any bytes, in base64", () => {
    expect(PayloadInput.safeParse("AP8=").success).toBe(true);
    expect(PayloadInput.safeParse("").success).toBe(true);
    expect(PayloadInput.safeParse("not base64!").success).toBe(false);
    const largest = Buffer.alloc(MAX_PAYLOAD_BYTES, 0xff);
    expect(PayloadInput.safeParse(largest.toString("base64")).success).toBe(true);
    const beyond = Buffer.alloc(MAX_PAYLOAD_BYTES + 3, 0xff);
    expect(PayloadInput.safeParse(beyond.toString("base64")).success).toBe(false);
  });
});

describe("metadata of a run (jobs.md#meta)", () => {
  const rule = JobMeta.parse({ required: ["customer"], optional: ["Note-2", "empty"] });

  test.each<[string, JobMeta | undefined, Record<string, string>, object]>([
    [
      "optional keys that were not given are there, with an empty value",
      rule,
      { customer: "a" },
      { customer: "a", "Note-2": "", empty: "" },
    ],
    [
      "what was given stays as it is, and so do dashes and case",
      rule,
      { customer: "", "Note-2": "b" },
      { customer: "", "Note-2": "b", empty: "" },
    ],
    ["a job without the rule takes none", undefined, {}, {}],
  ])("%s", (_what, one, given, values) => {
    expect(resolveMeta(one, given)).toEqual({ values });
  });

  test.each<[string, JobMeta | undefined, Record<string, string>, string[]]>([
    ["a required key is missing", rule, {}, ["/customer: must be given: the job requires it"]],
    [
      "a key is not permitted",
      rule,
      { customer: "a", other: "b" },
      ["/other: is not permitted: the job permits customer, Note-2, empty"],
    ],
    [
      "a key is written otherwise",
      rule,
      { Customer: "a" },
      [
        "/Customer: is not permitted: the job permits customer, Note-2, empty",
        "/customer: must be given: the job requires it",
      ],
    ],
    ["the job permits none", undefined, { "a/b": "" }, ["/a~1b: is not permitted: the job permits none"]],
    [
      "all objects have it",
      rule,
      { customer: "a", constructor: "b" },
      ["/constructor: is not permitted: the job"],
    ],
  ])("refused: %s", (_what, one, given, problems) => {
    const found = resolveMeta(one, given).problems ?? [];
    expect(found.map(({ pointer, detail }) => `${pointer}: ${detail}`)).toEqual(
      problems.map((problem) => expect.stringContaining(problem)),
    );
  });

  const keys = (count: number) => Array.from({ length: count }, (_, i) => `k${i}`);
  test.each<[string, object, boolean]>([
    ["nothing", {}, true],
    ["a key twice", { required: ["a"], optional: ["a"] }, false],
    ["the same but for its case", { required: ["a"], optional: ["A"] }, true],
    ["as many keys as possible", { required: keys(MAX_LABELS) }, true],
    ["one more", { required: keys(MAX_LABELS), optional: ["x"] }, false],
    ["an empty key", { required: [""] }, false],
  ])("a rule with %s is taken: %#", (_what, fields, taken) => {
    expect(JobMeta.safeParse(fields).success).toBe(taken);
  });
});
