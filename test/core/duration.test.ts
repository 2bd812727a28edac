import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { durationMs, formatDuration, MAX_DURATION_MS, parseDuration } from "../../src/shared/duration.ts";

describe("a duration is numbers with units (api.md#durations)", () => {
  test.each([
    ["250ms", 250],
    ["10s", 10_000],
    ["1h30m", 5_400_000],
    ["2d", 172_800_000],
    ["0s", 0],
    ["1.5s", 1_500],
    ["0.4ms", 0],
    ["1m1m", 120_000],
  ])("%s is %d ms", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
    expect(durationMs(text)).toBe(ms);
  });

  test.each([
    ["nothing", ""],
    ["a number without a unit", "10"],
    ["a negative one", "-1s"],
    ["a space", "1 s"],
    ["a unit that is none", "1w"],
    ["a unit without a number", "s"],
    ["capitals", "1S"],
    ["a number after the last unit", "1h30"],
    ["an exponent", "1e3s"],
    ["a point with nothing behind it", "1.s"],
    ["a line end", "1s\n"],
    ["more text than any duration needs", `${"0".repeat(32)}s`],
  ])("%s is none", (_what, text) => {
    expect(parseDuration(text)).toBeUndefined();
    expect(durationMs(text)).toBe(0);
  });
});

describe("the longest duration is MAX_DURATION_MS (api.md#durations: an overflowing one is a 400)", () => {
  test.each([
    ["36500d", MAX_DURATION_MS],
    ["36500d1ms", undefined],
    ["36501d", undefined],
    ["9999999999999999999999999999999d", undefined],
  ])("%s", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
});

test.each([
  [0, "0ms"],
  [999, "999ms"],
  [1_000, "1s"],
  [90_000, "1m30s"],
  [86_400_001, "1d1ms"],
  [-5, "0ms"],
])("%d ms is written %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test("whatever is written is read back as the same, for whole milliseconds", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: MAX_DURATION_MS }), (ms) => {
      expect(parseDuration(formatDuration(ms))).toBe(ms);
    }),
  );
});

test("no text makes it throw, and what it lets through is a whole number within bounds", () => {
  const unit = fc.constantFrom("ms", "s", "m", "h", "d", ".", "-", " ");
  const text = fc
    .array(fc.oneof(fc.nat().map(String), unit), { maxLength: 6 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.oneof(text, fc.string()), (any) => {
      const ms = parseDuration(any) ?? 0;
      expect(Number.isInteger(ms) && ms >= 0 && ms <= MAX_DURATION_MS).toBe(true);
    }),
  );
});
