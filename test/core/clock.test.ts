import { describe, expect, test } from "vitest";
import {
  believed,
  CLOCK_WAS_SET,
  clockIs,
  confirmedBy,
  latestConfirmed,
} from "../../src/shared/time/clock.ts";

describe("N10: a clock that has moved by more than it can have is not believed", () => {
  test.each([
    { what: "time passes", seenMs: 101_000, is: 101_000 },
    { what: "the confirmation is late", seenMs: 103_000, is: 103_000 },
    { what: "the clock is set forth", seenMs: 7_300_000, is: 100_000 },
    { what: "the clock is set back", seenMs: 0, is: 100_000 },
    { what: "the clock is set back by less than any delay feels", seenMs: 99_500, is: 99_500 },
  ])("$what", ({ seenMs, is }) => {
    expect(believed(100_000, seenMs)).toBe(is);
  });

  test("of confirmations that pass each other on the way the latest counts", () => {
    const arrived = [100_000, 102_000, 101_000];
    const latest = arrived.reduce<number | undefined>(latestConfirmed, undefined);
    expect(latest).toBe(102_000);
  });

  test("what a cron confirms is an instant", () => {
    expect(confirmedBy(clockIs(1_732_000_000_123))).toBe(1_732_000_000_123);
    expect(confirmedBy(CLOCK_WAS_SET)).toBeUndefined();
    expect(confirmedBy("*/5 * * * *")).toBeUndefined();
  });
});
