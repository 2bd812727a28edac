import { describe, expect, test } from "vitest";
import {
  DroverError,
  type ErrorCode,
  FAILURE_CODES,
  failureClass,
  STATUS_OF_CODE,
} from "../../src/core/errors.ts";
import { earliest } from "../../src/core/machine.ts";
import { isTerminal, RUN_STATES } from "../../src/core/run-state.ts";

describe("an error says whether the same request can succeed later (architecture.md §7)", () => {
  const codes = Object.entries(STATUS_OF_CODE) as [ErrorCode, number][];

  test.each(codes)("%s is answered with %d", (code, status) => {
    expect(status >= 400 && status < 600).toBe(true);
    expect(new DroverError(code, "text").temporary).toBe(status === 429 || status === 503);
  });

  test.each(["busy", "not_acknowledged", "unavailable"] as const)("%s is temporary", (code) => {
    expect(new DroverError(code, "text", { retryAfterMs: 5 })).toMatchObject({
      code,
      message: "text",
      temporary: true,
      retryAfterMs: 5,
    });
  });

  test("what it carries are own properties, which survive a call from object to object", () => {
    const fields = [{ pointer: "/argv", detail: "must name a command" }];
    const error = new DroverError("invalid_request", "text", { fields, extra: { runs: ["a"] } });
    expect(Object.keys(error)).toEqual(expect.arrayContaining(["code", "temporary", "fields", "extra"]));
  });

  test("what it was not given it does not have", () => {
    const { retryAfterMs, fields, extra } = new DroverError("internal", "text");
    expect({ retryAfterMs, fields, extra }).toEqual({});
  });

  test("it has neither of the names that the platform sets (cloudflare.md §1.3)", () => {
    const error = new DroverError("busy", "text", { retryAfterMs: 5, fields: [], extra: {} });
    expect(Object.keys(error).filter((key) => ["retryable", "overloaded"].includes(key))).toEqual([]);
  });
});

describe("the command or the machinery is to blame, never both (scoot.md §2.10)", () => {
  const task = ["command_not_found", "not_executable", "directory_not_found", "arguments_too_long"];

  test.each(FAILURE_CODES)("%s", (code) => {
    expect(failureClass(code)).toBe(task.includes(code) ? "task" : "infrastructure");
  });
});

// The numbers are bit positions in a query's state filter: they can never change.
test.each([
  [0, "unknown", true],
  [1, "pending", false],
  [2, "running", false],
  [3, "complete", true],
  [4, "failed", true],
  [5, "aborted", true],
  [6, "timedout", true],
] as const)("state %d is %s, terminal: %s (scoot.md §1.1)", (number, state, terminal) => {
  expect(RUN_STATES[number]).toBe(state);
  expect(isTerminal(state)).toBe(terminal);
});

test("there are seven states", () => {
  expect(RUN_STATES).toHaveLength(7);
});

test.each([
  [[], undefined],
  [[undefined], undefined],
  [[5], 5],
  [[undefined, 7, undefined, 3, 9], 3],
  [[0, 1], 0],
  [[-1, undefined], -1],
])("the earliest of %j is %s: what is absent never comes (architecture.md §3)", (instants, first) => {
  expect(earliest(...instants)).toBe(first);
});
