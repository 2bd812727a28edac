import { describe, expect, test } from "vitest";
import {
  DroverError,
  type ErrorCode,
  FAILURE_CODES,
  failureClass,
  STATUS_OF_CODE,
} from "../../src/shared/errors.ts";

describe("an error says whether the same request can succeed later (CONTRIBUTING.md#style)", () => {
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

  test("it has neither of the names that the platform sets (platform.md#calls-and-faults)", () => {
    const error = new DroverError("busy", "text", { retryAfterMs: 5, fields: [], extra: {} });
    expect(Object.keys(error).filter((key) => ["retryable", "overloaded"].includes(key))).toEqual([]);
  });
});

describe("the command or the machinery is to blame, never both (api.md#blame)", () => {
  const task = [
    "command_not_found",
    "not_executable",
    "directory_not_found",
    "arguments_too_long",
    "user_not_found",
    "image_missing",
    "image_denied",
    "task_failed",
    "check_failed",
    "unsatisfiable",
  ];

  test.each(FAILURE_CODES)("%s", (code) => {
    expect(failureClass(code)).toBe(task.includes(code) ? "task" : "infrastructure");
  });
});
