import { describe, expect, test } from "vitest";
import { circleIn, inOrder } from "../../cli/jobs/in-order.ts";

// Jobs of some files are stored so that each finds those that it follows (jobs.md#following-put).

const job = (name: string, ...after: unknown[]) => ({
  name,
  content: {
    spec: { argv: ["true"], after: after.map((one) => (typeof one === "string" ? { job: one } : one)) },
  },
});
const names = (jobs: ReturnType<typeof job>[]) => inOrder(jobs).map(({ name }) => name);

describe("the order of jobs", () => {
  test("puts each behind those that it follows, and leaves the others where they are", () => {
    expect(names([job("d", "c"), job("a"), job("c", "b", "elsewhere"), job("b")])).toEqual([
      "b",
      "c",
      "d",
      "a",
    ]);
    expect(names([job("b"), job("a")])).toEqual(["b", "a"]);
  });

  test("of a circle is as it was: Drover says what is wrong", () => {
    expect(names([job("a", "b"), job("b", "a")]).sort()).toEqual(["a", "b"]);
  });

  test("does not mind what is no job", () => {
    expect(names([job("a", 7, null, { job: 3 }, "b"), job("b")])).toEqual(["b", "a"]);
    expect(
      inOrder([
        { name: "a", content: {} },
        { name: "b", content: { spec: 1 } },
      ]),
    ).toHaveLength(2);
  });
});

test.each<[string, Record<string, string[]>, string[] | undefined]>([
  ["none", { a: ["b"], b: ["c"], c: [] }, undefined],
  ["one through three others", { a: ["b"], b: ["c"], c: ["d"], d: ["a"] }, ["a", "b", "c", "d"]],
  ["one that another job leads to", { x: ["y"], y: ["z"], z: ["y"] }, ["y", "z"]],
  ["itself", { a: ["a"] }, ["a"]],
  ["a job that is elsewhere", { a: ["elsewhere"] }, undefined],
])("a circle among jobs: %s", (_what, jobs, found) => {
  const described = Object.entries(jobs).map(([name, after]) => ({
    ...{ name, content: { spec: { after: after.map((job) => ({ job })) } } },
  }));
  expect(circleIn(described)?.map(({ name }) => name)).toEqual(found);
});
