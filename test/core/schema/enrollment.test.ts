import { expect, test } from "vitest";
import { EnrollmentRequest } from "../../../src/schema/enrollment.ts";
import { durationMs } from "../../../src/shared/duration.ts";
import { DEFAULT_ENROLLMENT_MS, MAX_ENROLLMENT_MS, MIN_ENROLLMENT_MS } from "../../../src/shared/limits.ts";

test("the pool default, for DEFAULT_ENROLLMENT_MS, unless it is said", () => {
  const request = EnrollmentRequest.parse({});
  expect([request.pool, durationMs(request.ttl)]).toEqual(["default", DEFAULT_ENROLLMENT_MS]);
});

test.each([
  [`${MIN_ENROLLMENT_MS - 1}ms`, false],
  [`${MIN_ENROLLMENT_MS}ms`, true],
  [`${MAX_ENROLLMENT_MS}ms`, true],
  [`${MAX_ENROLLMENT_MS + 1}ms`, false],
  ["soon", false],
])("a code for %s is possible: %s", (ttl, possible) => {
  expect(EnrollmentRequest.safeParse({ ttl }).success).toBe(possible);
});
