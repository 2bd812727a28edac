import { expect, test } from "vitest";
import { isTerminal, RUN_STATES } from "../../src/shared/run-state.ts";

// The numbers are bit positions in a query's state filter: they can never change.
test.each([
  [0, "unknown", true],
  [1, "pending", false],
  [2, "running", false],
  [3, "complete", true],
  [4, "failed", true],
  [5, "aborted", true],
  [6, "timedout", true],
] as const)("state %d is %s, terminal: %s (api.md#states)", (number, state, terminal) => {
  expect(RUN_STATES[number]).toBe(state);
  expect(isTerminal(state)).toBe(terminal);
});

test("there are seven states", () => {
  expect(RUN_STATES).toHaveLength(7);
});
