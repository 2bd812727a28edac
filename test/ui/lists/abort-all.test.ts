import { describe, expect, test } from "vitest";
import { leftOf } from "../../../ui/pages/runs/labels/left-of.ts";
import { IncompleteError } from "../../../ui/parts/unsure.ts";

// That the question says so, and stays: test/ui/runs.long.test.ts.

const refused = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    ...{ id: `run-${index}`, code: "busy" as const, detail: "too much is going on" },
  }));
const pool = { initialized: true, error: "it is starting" };

describe("what an abort of many runs has left (ui.md#d19)", () => {
  test("is each run that was refused, with the reason", () => {
    expect(leftOf({ failed: refused(2), service: [] })).toEqual([
      "run-0: too much is going on",
      "run-1: too much is going on",
    ]);
  });

  test("is also what a pool has that does not answer", () => {
    const service = [
      { ...pool, pool: "gpu", healthy: false },
      { ...pool, pool: "cpu", healthy: true },
    ];
    expect(leftOf({ failed: [], service })).toEqual(["the pool gpu does not answer. it is starting"]);
  });

  test("is said of ten, and of more their number", () => {
    const messageOf = (count: number) =>
      new IncompleteError(leftOf({ failed: refused(count), service: [] })).message;
    expect(messageOf(1)).toBe("Not everything could be done: run-0: too much is going on");
    expect(messageOf(10)).toMatch(/run-9: too much is going on$/);
    expect(messageOf(13)).toMatch(/run-9: too much is going on; and 3 more$/);
  });
});
