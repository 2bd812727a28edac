import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { attemptId } from "../../src/core/allocation/tasks/tasks.ts";
import { parseAttemptId } from "../../src/shared/attempt-id.ts";

// tasks.md#attempt-id
describe("an attempt's id is <run>/<task>/<epoch>.<n> (decisions/tasks.md#attempt-ids)", () => {
  test.each([
    ["build-17/main/1.1", { run: "build-17", task: "main", epoch: 1, n: 1 }],
    ["0/db/12.305", { run: "0", task: "db", epoch: 12, n: 305 }],
    [`${"a".repeat(63)}/${"t".repeat(63)}/999999999.999999999`, { epoch: 999_999_999, n: 999_999_999 }],
  ])("%s", (id, parts) => {
    expect(parseAttemptId(id)).toMatchObject(parts);
  });

  test.each([
    ["nothing", ""],
    ["no attempt", "build-17/main"],
    ["epoch 0", "build-17/main/0.1"],
    ["attempt 0", "build-17/main/1.0"],
    ["a leading zero", "build-17/main/01.1"],
    ["no number of the attempt", "build-17/main/1"],
    ["more than nine digits", "build-17/main/1000000000.1"],
    ["a run in capitals", "Build-17/main/1.1"],
    ["a run that begins with a dash", "-b/main/1.1"],
    ["a run of 64 characters", `${"a".repeat(64)}/main/1.1`],
    ["a task of 64 characters", `a/${"t".repeat(64)}/1.1`],
    ["one slash more", "a/b/main/1.1"],
    ["a way out", "a/../1.1"],
    ["a line end", "a/main/1.1\n"],
  ])("%s is none", (_what, id) => {
    expect(parseAttemptId(id)).toBeUndefined();
  });
});

test("taking an id apart gives what it was made of", () => {
  const name = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,62}$/);
  const number = fc.integer({ min: 1, max: 999_999_999 });
  fc.assert(
    fc.property(name, name, number, number, (run, task, epoch, n) => {
      expect(parseAttemptId(attemptId(run, task, epoch, n))).toEqual({ run, task, epoch, n });
    }),
  );
});
