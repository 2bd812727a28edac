import { describe, expect, test } from "vitest";
import { HIDDEN, refuseHidden, withHiddenValues } from "../../src/routes/walls/hidden-values.ts";
import type { RunStatus } from "../../src/schema/run/run.ts";
import { RunSpec, type RunSpecInput } from "../../src/schema/run/run-spec.ts";

// Which values a token without `runs:env` does not see (access.md#hidden-values).

const checks = (value: string) => [
  { name: "http", http: { port: 80, headers: { Authorization: value } } },
  { name: "port", tcp: { port: 80 } },
];
const short = (value: string): RunSpecInput => ({
  argv: ["serve"],
  env: { A: value },
  stdin: value,
  payload: { path: "in", content: value },
  checks: checks(value),
});
const long = (value: string): RunSpecInput => ({
  tasks: [{ name: "m", argv: ["serve"], env: { A: value }, checks: checks(value) }],
});

describe.each([
  ["one command", short, ""],
  ["a group", long, "/tasks/0"],
])("of %s", (_what, specOf, at) => {
  test("values of variables, input and headers are hidden, and their names are not", () => {
    const status = { spec: RunSpec.parse(specOf("sesame==")) } as RunStatus; // only its spec is read
    expect(withHiddenValues(status).spec).toEqual(RunSpec.parse(specOf(HIDDEN)));
  });

  test("a spec with a placeholder is refused, and each place is named", () => {
    const pointers = `${at}/checks/0/http/headers/Authorization`;
    expect(() => refuseHidden(RunSpec.parse(specOf("sesame==")), "")).not.toThrow();
    expect(fieldsOf(() => refuseHidden(RunSpec.parse(specOf(HIDDEN)), ""))).toContain(pointers);
  });
});

test("the content of a payload is named as well, and its path stays visible", () => {
  const spec = RunSpec.parse(short(HIDDEN));
  expect(fieldsOf(() => refuseHidden(spec, ""))).toContain("/payload/content");
  expect(withHiddenValues({ spec } as RunStatus).spec.payload?.path).toBe("in"); // only its spec is read
});

function fieldsOf(act: () => void): string[] {
  try {
    act();
  } catch (error) {
    return (error as { fields?: { pointer: string }[] }).fields?.map(({ pointer }) => pointer) ?? [];
  }
  return [];
}
