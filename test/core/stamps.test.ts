import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { believedStamps, joinedStamps, MAX_TAIL_STAMPS } from "../../src/core/allocation/output/stamps.ts";
import {
  cutStamps,
  packStamps,
  type Stamp,
  stampedBytes,
  thinStamps,
  unpackStamps,
} from "../../src/shared/time/stamps.ts";

// When bytes of output arrived: how stamps are packed, cut, thinned and joined (host-protocol.md#stamps).

/** Stamps as pairs; a gap is a pair without bytes. */
const stamps = (...pairs: [bytes: number, ms: number][]): Stamp[] =>
  pairs.map(([bytes, ms]) => ({ bytes, ms }));
const pairs = (all: readonly Stamp[] | undefined) => all?.map(({ bytes, ms }) => [bytes, ms]);

/** Any stamps, in order of time. */
const anyStamps = fc
  .array(fc.tuple(fc.nat(50), fc.nat(1_000)), { maxLength: 40 })
  .map((all) => all.map(([bytes, ms]) => ({ bytes, ms })).sort((a, b) => a.ms - b.ms));

/** The time of each byte. */
const timesOf = (all: readonly Stamp[]) =>
  all.flatMap(({ bytes, ms }) => Array.from({ length: bytes }, () => ms));

test("what was packed is unpacked again", () => {
  expect(packStamps(stamps([5, 1_000], [0, 1_020], [7, 1_020]))).toEqual([5, 1_000, 0, 20, 7, 0]);
  fc.assert(
    fc.property(anyStamps, (all) => {
      expect(unpackStamps(packStamps(all))).toEqual(all);
    }),
  );
});

test.each<[string, number[], [number, number][]]>([
  ["a number without its partner is ignored", [5, 10, 7], [[5, 10]]],
  ["nothing is nothing", [], []],
])("%s", (_what, packed, expected) => {
  expect(pairs(unpackStamps(packed))).toEqual(expected);
});

describe("a part of the bytes has the stamps of these bytes", () => {
  const all = stamps([10, 100], [0, 150], [10, 300], [5, 400]);
  test.each<[string, number, number, [number, number][]]>([
    [
      "all of them",
      0,
      25,
      [
        [10, 100],
        [0, 150],
        [10, 300],
        [5, 400],
      ],
    ],
    ["the first", 0, 10, [[10, 100]]],
    ["within one", 2, 5, [[3, 100]]],
    [
      "over a gap",
      8,
      12,
      [
        [2, 100],
        [0, 150],
        [2, 300],
      ],
    ],
    [
      "behind a gap, which stays known",
      10,
      20,
      [
        [0, 150],
        [10, 300],
      ],
    ],
    [
      "within what came behind a gap",
      15,
      20,
      [
        [0, 150],
        [5, 300],
      ],
    ],
    ["the last", 20, 25, [[5, 400]]],
    ["beyond the end", 20, 99, [[5, 400]]],
    ["nothing", 25, 25, []],
  ])("%s", (_what, from, to, expected) => {
    expect(pairs(cutStamps(all, from, to))).toEqual(expected);
  });

  test("wherever it is cut, each byte keeps its time", () => {
    fc.assert(
      fc.property(anyStamps, fc.nat(500), fc.nat(500), (some, a, b) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        expect(timesOf(cutStamps(some, from, to))).toEqual(timesOf(some).slice(from, to));
      }),
    );
  });
});

describe("too many stamps become coarser", () => {
  test.each<[string, Stamp[], number, [number, number][]]>([
    [
      "not if they fit",
      stamps([1, 1], [1, 2]),
      2,
      [
        [1, 1],
        [1, 2],
      ],
    ],
    [
      "neighbors are joined, with the later time",
      stamps([1, 1], [1, 2], [1, 3]),
      2,
      [
        [2, 2],
        [1, 3],
      ],
    ],
    [
      "a gap stays",
      stamps([1, 1], [0, 1], [1, 9], [1, 10]),
      3,
      [
        [1, 1],
        [0, 1],
        [2, 10],
      ],
    ],
    [
      "too many gaps become one",
      stamps([1, 1], [0, 1], [1, 5], [0, 5], [1, 9]),
      2,
      [
        [0, 0],
        [3, 9],
      ],
    ],
  ])("%s", (_what, all, most, expected) => {
    expect(pairs(thinStamps(all, most))).toEqual(expected);
  });

  test("at most so many are left, for the same bytes, and no byte gets an earlier time", () => {
    fc.assert(
      fc.property(anyStamps, fc.integer({ min: 2, max: 20 }), (all, most) => {
        const thin = thinStamps(all, most);
        expect(thin.length).toBeLessThanOrEqual(most);
        expect(stampedBytes(thin)).toBe(stampedBytes(all));
        const [before, after] = [timesOf(all), timesOf(thin)];
        expect(after.every((ms, index) => ms >= (before[index] ?? 0))).toBe(true);
      }),
    );
  });
});

test.each<[string, number[] | undefined, [number, number][] | undefined]>([
  [
    "that fit the bytes are believed",
    [3, 10, 2, 5],
    [
      [3, 10],
      [2, 15],
    ],
  ],
  [
    "of a time to come are of now",
    [3, 10, 2, 5_000],
    [
      [3, 10],
      [2, 1_000],
    ],
  ],
  ["for fewer bytes are not", [3, 10], undefined],
  ["for more bytes are not", [9, 10], undefined],
  ["that are absent stay so", undefined, undefined],
])("stamps of a host %s", (_what, packed, expected) => {
  expect(pairs(believedStamps(packed, 5, 1_000))).toEqual(expected);
});

describe("a tail that grows has stamps for all of its bytes, or none", () => {
  const known = stamps([4, 100]);
  test.each<[string, Stamp[] | undefined, number, Stamp[] | undefined, [number, number][] | undefined]>([
    [
      "both are known",
      known,
      4,
      stamps([2, 200]),
      [
        [4, 100],
        [2, 200],
      ],
    ],
    ["the first bytes", undefined, 0, stamps([2, 200]), [[2, 200]]],
    ["neither is known", undefined, 4, undefined, undefined],
    [
      "only the new bytes are known",
      undefined,
      4,
      stamps([2, 200]),
      [
        [0, 0],
        [4, 200],
        [2, 200],
      ],
    ],
    [
      "only the old bytes are known",
      known,
      4,
      undefined,
      [
        [4, 100],
        [0, 100],
        [2, 999],
      ],
    ],
  ])("%s", (_what, before, bytes, more, expected) => {
    const packed = joinedStamps({ bytes, stamps: before }, { bytes: 2, stamps: more }, 999);
    expect(packed && pairs(unpackStamps(packed))).toEqual(expected);
  });

  test.each([MAX_TAIL_STAMPS, MAX_TAIL_STAMPS + 1])("of %i stamps it keeps at most the bound", (count) => {
    const many = Array.from({ length: count }, (_, index) => ({ bytes: 1, ms: index }));
    const packed = joinedStamps({ bytes: 0 }, { bytes: count, stamps: many }, 1e6) ?? [];
    expect(packed.length / 2).toBe(count <= MAX_TAIL_STAMPS ? count : Math.ceil(count / 2));
    expect(stampedBytes(unpackStamps(packed))).toBe(count);
  });
});
