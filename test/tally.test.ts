import { expect, test } from "vitest";
import { failures, lastLine, tally } from "../scripts/tally.mjs";

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((result) => ({ status: result })),
});

// What `npm test` must say at its end. A run that proves nothing must not look like one that passed.
test.each([
  {
    what: "every test passed",
    files: [file("passed", "passed", "passed"), file("passed", "passed")],
    exitCode: 0,
    line: "3 passed, 0 failed",
  },
  {
    what: "a test failed",
    files: [file("failed", "passed", "failed")],
    exitCode: 1,
    line: "1 passed, 1 failed",
  },
  {
    what: "tests were skipped, or are only planned",
    files: [file("passed", "passed", "skipped", "pending", "todo")],
    exitCode: 0,
    line: "1 passed, 0 failed, 3 skipped",
  },
  {
    what: "a file did not load",
    files: [file("failed"), file("passed", "passed")],
    exitCode: 1,
    line: "1 passed, 1 failed",
  },
  {
    what: "a file failed after its tests had passed",
    files: [file("failed", "passed")],
    exitCode: 1,
    line: "1 passed, 1 failed",
  },
  {
    what: "an error outside any test, which only the exit code shows",
    files: [file("passed", "passed")],
    exitCode: 1,
    line: "1 passed, 1 failed",
  },
  { what: "no test matched", files: [], exitCode: 0, line: "0 passed, 1 failed" },
  {
    what: "every test was skipped",
    files: [file("skipped", "skipped")],
    exitCode: 0,
    line: "0 passed, 1 failed, 1 skipped",
  },
  { what: "vitest left no report", files: undefined, exitCode: 137, line: "0 passed, 1 failed" },
])("$what: $line", ({ files, exitCode, line }) => {
  const report = files === undefined ? undefined : { testResults: files };
  expect(lastLine(tally(report, exitCode))).toBe(line);
});

// A CI that shows only the end of its output must show there which tests failed.
test("each failure is a line: file, test, error and where it arose", () => {
  const report = {
    testResults: [
      {
        name: "/clone/test/a.test.ts",
        status: "failed",
        message: "",
        assertionResults: [
          { status: "passed", fullName: "it starts" },
          {
            status: "failed",
            fullName: "it ends",
            failureMessages: [
              "\u001b[31mError: no end\u001b[39m\nCall log:\n  - waits\n" +
                "    at f (/clone/test/a.test.ts:12:4)",
              "later",
            ],
          },
        ],
      },
      {
        name: "/clone/test/b.test.ts",
        status: "failed",
        message: "SyntaxError: x\n    at b",
        assertionResults: [],
      },
      { name: "/clone/test/c.test.ts", status: "passed", message: "", assertionResults: [] },
    ],
  };
  expect(failures(report, "/clone")).toEqual([
    "test/a.test.ts: it ends: Error: no end Call log: - waits (line 12)",
    "test/b.test.ts: SyntaxError: x",
  ]);
  expect(failures(undefined, "/clone")).toEqual([]);
});
