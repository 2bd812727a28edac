import { describe, expect, test } from "vitest";
import { paramsProblems, resolveParams } from "../../../src/core/job/params/resolve.ts";
import { JobParam, JobParams } from "../../../src/schema/job/params.ts";
import {
  DEFAULT_PARAM_BYTES,
  MAX_ENUM_VALUES,
  MAX_PARAM_BYTES,
  MAX_PARAMS,
  MAX_PATTERN_CHARS,
  MAX_PATTERN_VALUE_BYTES,
} from "../../../src/shared/jobs/limits.ts";

const text = (more: object = {}): JobParam => JobParam.parse({ type: "string", ...more });

/** What comes of one parameter with this value: its text, or what is wrong. */
function resolved(param: JobParam, value?: string | number | boolean): string | undefined {
  const { values, problems } = one(param, value);
  return problems === undefined ? values?.p : `problem: ${problems[0]?.detail}`;
}
const one = (param: JobParam, value?: string | number | boolean) =>
  resolveParams({ p: param }, value === undefined ? {} : { p: value });

describe("the value of a parameter is its text (jobs.md#parameters)", () => {
  test.each<[string, JobParam, string | number | boolean | undefined, string]>([
    ["a text", text(), "a b", "a b"],
    ["a whole number", JobParam.parse({ type: "integer" }), 42, "42"],
    [
      "the largest whole number",
      JobParam.parse({ type: "integer" }),
      Number.MAX_SAFE_INTEGER,
      "9007199254740991",
    ],
    ["a number", JobParam.parse({ type: "number" }), -0.5, "-0.5"],
    ["true", JobParam.parse({ type: "boolean" }), true, "true"],
    ["an empty text", text({ default: "x" }), "", ""],
    ["nothing, with a default", text({ default: "x" }), undefined, "x"],
    [
      "nothing, with false as default",
      JobParam.parse({ type: "boolean", default: false }),
      undefined,
      "false",
    ],
    ["nothing", text(), undefined, ""],
    ["one of its values", text({ enum: ["a", "b"] }), "b", "b"],
    ["a number of its values", JobParam.parse({ type: "integer", enum: [1, 2] }), 2, "2"],
    ["a text that matches", text({ pattern: "v\\d+" }), "v12", "v12"],
    ["as many bytes as it may have", text({ maxBytes: 4 }), "éé", "éé"],
    [
      "as many as one without a limit may have",
      text(),
      "x".repeat(DEFAULT_PARAM_BYTES),
      "x".repeat(DEFAULT_PARAM_BYTES),
    ],
    [
      "the largest value",
      text({ maxBytes: MAX_PARAM_BYTES }),
      "x".repeat(MAX_PARAM_BYTES),
      "x".repeat(MAX_PARAM_BYTES),
    ],
  ])("%s", (_what, param, value, expected) => {
    expect(resolved(param, value)).toBe(expected);
  });

  test.each<[string, JobParam, string | number | boolean | undefined, string]>([
    ["nothing, if it is required", text({ required: true }), undefined, "must be given: the job requires it"],
    ["a number for a text", text(), 1, "must be a text"],
    ["a text for a number", JobParam.parse({ type: "number" }), "1", "must be a number"],
    ["a text for true", JobParam.parse({ type: "boolean" }), "true", "must be true or false"],
    ["half a number", JobParam.parse({ type: "integer" }), 1.5, "must be a whole number"],
    ["a number that is not exact", JobParam.parse({ type: "integer" }), 2 ** 53, "must be a whole number"],
    ["another value", text({ enum: ["a", "b"] }), "c", 'must be one of "a", "b"'],
    [
      "a text that does not match",
      text({ pattern: "v\\d+" }),
      "v1.2",
      "must match the pattern v\\d+ as a whole",
    ],
    ["a byte too many", text({ maxBytes: 4 }), "éé1", "must have at most 4 bytes, not 5"],
    [
      "a byte too many without a limit",
      text(),
      "x".repeat(DEFAULT_PARAM_BYTES + 1),
      "must have at most 4096 bytes",
    ],
    [
      "a byte too many for a pattern",
      text({ pattern: "x*" }),
      "x".repeat(MAX_PATTERN_VALUE_BYTES + 1),
      "must have at",
    ],
    ["what ends a text for a process", text(), "a\0b", "must not contain a NUL character"],
    ["half a character", text(), "a\ud83d", "must be valid Unicode"],
  ])("%s: refused", (_what, param, value, problem) => {
    expect(resolved(param, value)).toContain(`problem: ${problem}`);
  });

  test("unknown names are refused with those that there are, and so is what all objects have", () => {
    expect(resolveParams({ a: text(), b: text() }, { c: "", constructor: "x" })).toEqual({
      problems: [
        { pointer: "/c", detail: "is no parameter: the job has a, b" },
        { pointer: "/constructor", detail: "is no parameter: the job has a, b" },
      ],
    });
    expect(resolveParams({}, { c: "" }).problems?.[0]?.detail).toBe("is no parameter: the job has none");
  });

  test("all values together have a bound, too", () => {
    const params = { a: text({ maxBytes: MAX_PARAM_BYTES }), b: text() };
    const a = "x".repeat(MAX_PARAM_BYTES - 1);
    expect(resolveParams(params, { a, b: "y" }).problems).toBeUndefined();
    expect(resolveParams(params, { a, b: "yy" }).problems).toEqual([
      {
        pointer: "",
        detail: `must have at most ${MAX_PARAM_BYTES} bytes in all, not ${MAX_PARAM_BYTES + 1}`,
      },
    ]);
  });
});

describe("a parameter that no run could use is refused with its job (jobs.md#parameters)", () => {
  test.each<[string, object, string]>([
    ["a default of another type", { type: "integer", default: "1" }, "/p/default: must be a whole number"],
    [
      "a default that is no value",
      { type: "string", enum: ["a"], default: "b" },
      "/p/default: must be one of",
    ],
    [
      "a default that does not match",
      { type: "string", pattern: "a", default: "b" },
      "/p/default: must match",
    ],
    [
      "a default that is too long",
      { type: "string", maxBytes: 1, default: "bb" },
      "/p/default: must have at most",
    ],
    [
      "a default that is never used",
      { type: "string", required: true, default: "" },
      "/p/default: is never used",
    ],
    ["values of another type", { type: "string", enum: ["a", 1] }, "/p/enum/1: must be a text"],
    [
      "a pattern beside a list of values",
      { type: "string", pattern: "a", enum: ["a"] },
      "/p/pattern: is never used, since `enum` says which values there are",
    ],
    [
      "a pattern for a number",
      { type: "number", pattern: "1" },
      '/p/pattern: belongs to texts, and the type is "num',
    ],
    ["a length of a number", { type: "number", maxBytes: 1 }, "/p/maxBytes: belongs to texts"],
    ["a pattern that is none", { type: "string", pattern: "(" }, "/p/pattern: is not a regular expression"],
    [
      "a pattern that looks back",
      { type: "string", pattern: "(a)\\1" },
      "/p/pattern: refers back to a group",
    ],
    [
      "a long text with a pattern",
      { type: "string", pattern: "a", maxBytes: 1025 },
      "/p/maxBytes: must be at most",
    ],
  ])("%s", (_what, param, problem) => {
    const found = paramsProblems({ p: JobParam.parse(param) });
    expect(found.map(({ pointer, detail }) => `${pointer}: ${detail}`)).toEqual([
      expect.stringContaining(problem),
    ]);
  });

  test("one that can be used is taken", () => {
    const params = JobParams.parse({
      branch: { type: "string", pattern: "[a-z/]+", default: "main", maxBytes: MAX_PATTERN_VALUE_BYTES },
      size: { type: "integer", enum: [1, 2], default: 1 },
      customer: { type: "string", required: true },
    });
    expect(paramsProblems(params)).toEqual([]);
  });
});

describe("the fields of parameters", () => {
  const isTaken = (params: object) => JobParams.safeParse(params).success;
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, text()]));

  test.each<[string, object, boolean]>([
    ["as many as possible", many(MAX_PARAMS), true],
    ["one more", many(MAX_PARAMS + 1), false],
    ["letters, digits and underscores", { gitBranch_2: text() }, true],
    ["the longest name", { ["p".repeat(63)]: text() }, true],
    ["a longer one", { ["p".repeat(64)]: text() }, false],
    ["a dash", { "git-branch": text() }, false],
    ["a digit first", { "2nd": text() }, false],
    ["two names with one variable", { branch: text(), Branch: text() }, false],
    ["as many values as possible", { p: { type: "integer", enum: Array(MAX_ENUM_VALUES).fill(1) } }, true],
    ["one more", { p: { type: "integer", enum: Array(MAX_ENUM_VALUES + 1).fill(1) } }, false],
    ["no values", { p: { type: "integer", enum: [] } }, false],
    ["the longest pattern", { p: { type: "string", pattern: "a".repeat(MAX_PATTERN_CHARS) } }, true],
    ["a longer one", { p: { type: "string", pattern: "a".repeat(MAX_PATTERN_CHARS + 1) } }, false],
    ["the largest text", { p: { type: "string", maxBytes: MAX_PARAM_BYTES } }, true],
    ["a larger one", { p: { type: "string", maxBytes: MAX_PARAM_BYTES + 1 } }, false],
    ["a type that is none", { p: { type: "list" } }, false],
    ["an object as default", { p: { type: "string", default: {} } }, false],
  ])("%s: %#", (_what, params, taken) => {
    expect(isTaken(params)).toBe(taken);
  });
});
