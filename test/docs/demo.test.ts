import { expect, test } from "vitest";
import { startLine } from "../../scripts/demo/phases.mjs";

test("P40: the demo says how soon a command was started, which a warm machine makes quicker", () => {
  const run = {
    submittedAt: "2026-11-21T08:00:00.000Z",
    startedAt: "2026-11-21T08:00:00.050Z",
    finishedAt: "2026-11-21T08:00:11.300Z",
  };
  expect(startLine(run)).toBe("(the command started 0.05 s after it was submitted)");
});
