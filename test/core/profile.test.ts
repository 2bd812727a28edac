import { expect, test } from "vitest";
import { busyUs, functionsOf, hottest } from "../../bench/profile/hot.ts";
import { sourcesOf } from "../../bench/profile/sources.ts";

const called = (functionName: string) => ({ functionName, url: "worker.js", lineNumber: 4, columnNumber: 0 });
/** `outer` calls `inner`, which calls `outer` again. */
const PROFILE = {
  nodes: [
    { id: 1, callFrame: called("(root)"), children: [2, 5] },
    { id: 2, callFrame: called("outer"), children: [3] },
    { id: 3, callFrame: called("inner"), children: [4] },
    { id: 4, callFrame: called("outer") },
    { id: 5, callFrame: called("(idle)") },
  ],
  startTime: 0,
  endTime: 1_111,
  samples: [2, 3, 4, 5, 3],
  timeDeltas: [1, 10, 100, 1_000, 10],
};

test("a function counts by itself, and once with all that it calls (budgets.md#profile)", () => {
  const functions = functionsOf(PROFILE);
  const at = { url: "worker.js", line: 5 };
  expect(functions).toContainEqual({ name: "outer", at, selfUs: 101, totalUs: 121 });
  expect(functions).toContainEqual({ name: "inner", at, selfUs: 20, totalUs: 120 });
});

test("time in which nothing ran is not work, and is never the hottest (budgets.md#profile)", () => {
  const functions = functionsOf(PROFILE);
  expect(busyUs(functions)).toBe(121);
  expect(hottest(functions, "selfUs", 1).map(({ name }) => name)).toEqual(["outer"]);
  expect(hottest(functions, "selfUs", 9).map(({ name }) => name)).toEqual(["outer", "inner"]);
});

test("a line of a bundle comes from the source that was named last before it (budgets.md#profile)", () => {
  const sourceOf = sourcesOf(
    "let a;\n// src/a.ts\nlet b;\n// a remark\nlet c;\n  // node_modules/x/y.js\nlet d;",
  );
  expect([1, 3, 5, 7].map(sourceOf)).toEqual([undefined, "src/a.ts", "src/a.ts", "node_modules/x/y.js"]);
});
