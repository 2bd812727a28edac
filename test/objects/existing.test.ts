import { expect, test } from "vitest";
import type { AllocationState } from "../../src/core/allocation/state.ts";
import { refusedBy, refuseOther } from "../../src/objects/reads/existing.ts";
import { RunSpec } from "../../src/schema/run/run-spec.ts";
import { DroverError } from "../../src/shared/errors.ts";

const specOf = (more: object) => RunSpec.parse({ argv: ["true"], ...more });

/** What is said to a submission of `second` where `first` is. */
function refusalOf(first: object, second: object): DroverError {
  const record = { spec: specOf(first), hash: "first" };
  const state = { record } as unknown as AllocationState; // all that it looks at
  try {
    refuseOther(state, "r1", { spec: specOf(second), hash: "second" });
  } catch (error) {
    if (error instanceof DroverError) return error;
  }
  throw new Error("it was let through");
}

test.each<[first: object, second: object, pointers: string[], said: RegExp]>([
  [{ dir: "/a" }, { dir: "/b" }, ["/dir"], /is another one: its `dir` differs$/],
  [{ env: { A: "secret" } }, {}, ["/env"], /its `env` differs$/],
  [{ argv: ["a"], priority: 7 }, { argv: ["b"] }, ["/argv", "/priority"], /`argv`, `priority` differ$/],
  [{}, { priority: 50 }, [], /was submitted in a different form, such as with a default written out$/],
])("P33: %j and %j differ in %j", (first, second, pointers, said) => {
  const { fields, message } = refusalOf(first, second);
  expect(fields?.map(({ pointer }) => pointer).sort()).toEqual(pointers);
  expect(message).toMatch(said);
  expect(message).not.toContain("secret");
});

test("P23: a run for a pool that is not there hears which, and no route of the API", () => {
  const { message, code } = refusedBy("gpu", { code: "unknown_pool", text: "there is no pool of this name" });
  expect([code, message]).toEqual(["unknown_pool", 'there is no pool "gpu"']);
});
