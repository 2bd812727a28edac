import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BUCKETS,
  type Counts,
  callCounts,
  growthOf,
  type HistogramName,
  histogramOf,
  sumOf,
  timeCounts,
} from "../../src/core/histogram.ts";

const NAMES = Object.keys(BUCKETS) as HistogramName[]; // the keys of that very object
const counted = (name: HistogramName, times: readonly number[]): Counts =>
  times.reduce<Counts>((counts, ms) => sumOf(counts, timeCounts(name, ms)), {});

describe("a duration is counted in the first bucket that holds it (pool.md#histograms)", () => {
  test.each([
    [0, "call le 0.1"],
    [100, "call le 0.1"],
    [101, "call le 0.25"],
    [60_000, "call le 60"],
  ])("%i ms: %s", (ms, bucket) => {
    expect(timeCounts("call", ms)).toEqual({ "call times": 1, "call seconds": ms / 1_000, [bucket]: 1 });
  });

  test("one above all bounds is only in the bucket without a bound", () => {
    expect(timeCounts("call", 60_001)).toEqual({ "call times": 1, "call seconds": 60.001 });
  });

  test("one that a clock made negative counts as 0", () => {
    expect(timeCounts("call", -5)).toEqual({ "call times": 1, "call seconds": 0, "call le 0.1": 1 });
  });

  test.each(NAMES)("the bounds of %s rise", (name) => {
    const bounds: readonly number[] = BUCKETS[name];
    expect([...bounds].sort((a, b) => a - b)).toEqual(bounds);
    expect(new Set(bounds).size).toBe(bounds.length);
  });
});

describe("what is told is what Prometheus expects (pool.md#histograms)", () => {
  test("each bucket holds all durations up to its bound, and the last one holds all", () => {
    const times = fc.array(
      fc.oneof(fc.integer({ min: -10, max: 200_000 }), fc.constantFrom(100, 250, 60_000)),
    );
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), times, (name, all) => {
        const { buckets, times: count, seconds } = histogramOf(counted(name, all), name, name);
        const held = (le: string) => all.filter((ms) => Math.max(0, ms) / 1_000 <= Number(le)).length;
        expect(buckets.slice(0, -1).map((one) => one.count)).toEqual(
          buckets.slice(0, -1).map(({ le }) => held(le)),
        );
        expect(buckets.at(-1)).toEqual({ le: "+Inf", count: all.length });
        expect(count).toBe(all.length);
        expect(seconds).toBeCloseTo(all.reduce((sum, ms) => sum + Math.max(0, ms) / 1_000, 0));
      }),
    );
  });
});

describe("growth, added to what was before, is what is now", () => {
  test("and nothing else is named", () => {
    const [before, after] = [counted("call", [50, 700]), counted("call", [50, 700, 700, 9_000])];
    const grown = growthOf(before, after);
    expect(sumOf(before, grown)).toEqual(after);
    expect(grown).not.toHaveProperty("call le 0.1");
    expect(growthOf(after, after)).toEqual({});
  });
});

describe("a call to the provider is counted by its outcome (pool.md#histograms)", () => {
  test.each([
    ["create", "created", "success"],
    ["create", "pending", "success"],
    ["create", "failed", "failure"],
    ["find", "none", "success"],
    ["find", "unsure", "failure"],
  ] as const)("%s that is %s: %s", (call, kind, outcome) => {
    expect(callCounts(call, { kind }, 200)).toHaveProperty([`call ${call} ${outcome} le 0.25`], 1);
  });

  test("one whose time nobody knows is not counted", () => {
    expect(callCounts("create", { kind: "created" }, undefined)).toEqual({});
  });
});
