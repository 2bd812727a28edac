import { describe, expect, test } from "vitest";
import { searchFrom } from "../../src/routes/query/run-search.ts";
import { MAX_SEARCH_CHARS } from "../../src/shared/limits.ts";
import { createEdge } from "./support/edge.ts";

// What the parameters of a list ask for, and what is refused (api.md#finding).

const alone = { hasIds: false, all: false };
const operator = { project: null, by: "admin" };
const member = { project: "ml", by: "token:ml:ci" };

describe("the parameters of a list (api.md#finding)", () => {
  test.each([
    ["nothing", operator, {}, undefined],
    ["a prefix as it is, without a wall", operator, { prefix: "bui" }, { prefix: "bui" }],
    ["a prefix in the caller's project", member, { prefix: "bui" }, { prefix: "ml.bui" }],
    ["a prefix that names the project", member, { prefix: "ml.b" }, { prefix: "ml.b" }],
    ["the caller's own runs", member, { mine: "1" }, { by: "token:ml:ci" }],
    ["a flag that is off", member, { mine: "0", failed: "false" }, {}],
    [
      "a text and an instant",
      operator,
      { search: "a b", since: "1970-01-01T00:00:01Z" },
      { text: "a b", since: 1_000 },
    ],
    ["failures", operator, { failed: "true" }, { failed: true }],
  ] as const)("ask for %s", (_what, caller, params, expected) => {
    expect(searchFrom(params, caller, alone)).toEqual(expected);
  });

  test.each([
    ["id=a&prefix=b&mine=0", ["?prefix", "?mine"], /with ids/],
    ["all=1&wait=1s&failed=1", ["?failed"], /`all`/],
    ["prefix=B", ["?prefix"], /beginning of a run's id/],
    ["prefix=a.b.c", ["?prefix"], /beginning of a run's id/],
    ["since=2h", ["?since"], /an instant/],
    ["search=", ["?search"], /./],
    [`search=${"x".repeat(MAX_SEARCH_CHARS + 1)}`, ["?search"], /./],
  ])("are refused: %s", async (query, pointers, detail) => {
    const problem = await createEdge().json(400, "GET", `/v1/runs?${query}`);
    expect(problem).toMatchObject({ code: "invalid_request" });
    expect(problem.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers);
    expect(problem.errors[0].detail).toMatch(detail);
  });

  test.each([`search=${"x".repeat(MAX_SEARCH_CHARS)}`, "prefix=a.", "prefix=a-"])(
    "are taken: %s",
    async (query) => {
      await createEdge().json(200, "GET", `/v1/runs?${query}`);
    },
  );
});
