import { describe, expect, test } from "vitest";
import { applyParams } from "../../../src/core/job/params/apply.ts";
import { JobRunSpec } from "../../../src/schema/job/spec.ts";
import { RunSpec } from "../../../src/schema/run/run.ts";
import { JOB } from "./support/spec.ts";

/** What is wrong with the spec of a job: `/field: why`. */
function faultsOf(fields: object): string[] {
  const { error } = JobRunSpec.safeParse({ argv: ["true"], ...fields });
  return (error?.issues ?? []).map(({ path, message }) => `/${path.join("/")}: ${message}`);
}

describe("the spec of a job is that of a run (jobs.md#filling-in)", () => {
  test.each<[string, object, string[]]>([
    ["an image with a parameter", { container: { image: "node:${param.v}" } }, []],
    ["one that is a parameter", { container: { image: "${param.image}" } }, []],
    [
      "one of a task",
      { argv: undefined, tasks: [{ name: "a", container: { image: "a/${param.b}:1" } }] },
      [],
    ],
    [
      "a name that no value makes right",
      { container: { image: "Node:${param.v}" } },
      ["/container/image: must be"],
    ],
    [
      "an escaped reference",
      { container: { image: "node:$${param.v}" } },
      ["/container/image: must be the name"],
    ],
    ["the id of a run", { id: "a" }, ["/: Unrecognized key"]],
    [
      "rules between fields",
      { container: { image: "node" }, umask: "022" },
      ["/umask: has no effect in a container"],
    ],
  ])("%s", (_what, fields, faults) => {
    expect(faultsOf(fields)).toEqual(faults.map((fault) => expect.stringContaining(fault)));
  });

  test("with the same defaults, and filled in it is the spec of a run", () => {
    const fields = { argv: ["true"], container: { image: "node:${param.v}" } };
    const filled = (v: string) => {
      const applied = applyParams(JobRunSpec.parse(fields), { params: { v }, job: JOB });
      return RunSpec.safeParse(applied.values);
    };
    const expected = RunSpec.parse({
      ...fields,
      container: { image: "node:24" },
      env: { DROVER_PARAM_V: "24" },
    });
    expect(filled("24").data).toEqual(expected);
    expect(filled("24 --privileged").success).toBe(false);
  });
});
