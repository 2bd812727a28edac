import { expect, test } from "vitest";
import { backOffMs, spread } from "../../src/shared/time/backoff.ts";

test("a back-off doubles from the first wait to the longest, and stays there (rules.md#r7)", () => {
  const waits = [1, 2, 3, 4, 5, 2_000].map((n) => backOffMs({ firstMs: 1_000, longestMs: 6_000 }, n));
  expect(waits).toEqual([1_000, 2_000, 4_000, 6_000, 6_000, 6_000]);
});

test("a wait that is spread lies in its upper half", () => {
  expect([0, 0.5, 1].map((random) => spread(1_000, random))).toEqual([500, 750, 1_000]);
});
