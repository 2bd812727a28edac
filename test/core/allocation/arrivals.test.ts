import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Arrival,
  arrivalsIn,
  inOrder,
  pageOfArrivals,
  type StoredStretch,
  stretchSince,
} from "../../../src/core/allocation/output/arrivals.ts";
import type { StreamName } from "../../../src/schema/host.ts";

// Both streams in the order in which they arrived (api.md#arrivals).

const START = 1_000_000;

/** Stretches that follow each other, each with its packed stamps, or only with its length. */
function stretchesOf(...all: (number[] | number)[]): StoredStretch[] {
  let from = 0;
  return all.map((one) => {
    const stamps = typeof one === "number" ? undefined : one;
    const length = typeof one === "number" ? one : one.reduce((sum, n, i) => sum + (i % 2 === 0 ? n : 0), 0);
    const stretch = { from, length, stamps };
    from += length;
    return stretch;
  });
}

/** An arrival as text, such as `out 0-5 @20`, with the times since the start. */
function shown({ stream, from, to, at, after }: Arrival): string {
  const since = after === null ? "" : ` after ${after - START}`;
  return `${stream.slice(3)} ${from}-${to} @${at === null ? "?" : at - START}${since}`;
}

const read = (stream: StreamName, all: StoredStretch[], from = 0, start: number | null = START) =>
  [...arrivalsIn(stream, all, from, start)].map(shown);

test.each<[string, StoredStretch[], number, string[]]>([
  [
    "stretch after stretch",
    stretchesOf([5, 10, 5, 10], [3, 30]),
    0,
    ["out 0-5 @10", "out 5-10 @20", "out 10-13 @30"],
  ],
  ["from a byte in between", stretchesOf([5, 10, 5, 10], [3, 30]), 7, ["out 7-10 @20", "out 10-13 @30"]],
  ["from the end", stretchesOf([5, 10]), 5, []],
  ["without stamps", stretchesOf(4, [3, 30]), 1, ["out 1-4 @?", "out 4-7 @30"]],
  [
    "after a time in which nobody looked",
    stretchesOf([5, 10, 0, 0, 3, 90]),
    0,
    ["out 0-5 @10", "out 5-8 @100 after 10"],
  ],
  ["of nothing", [], 0, []],
])("the arrivals of a stream: %s", (_what, all, from, expected) => {
  expect(read("stdout", all, from)).toEqual(expected);
});

test("an attempt whose start is not known has no times", () => {
  expect(read("stderr", stretchesOf([5, 10]), 2, null)).toEqual(["err 2-5 @?"]);
});

const merged = (stdout: StoredStretch[], stderr: StoredStretch[]) =>
  inOrder(arrivalsIn("stdout", stdout, 0, START), arrivalsIn("stderr", stderr, 0, START));

describe("both streams, by time", () => {
  test.each<[string, StoredStretch[], StoredStretch[], string[]]>([
    [
      "in turns",
      stretchesOf([1, 10, 1, 20]),
      stretchesOf([1, 20, 1, 20]),
      ["out 0-1 @10", "err 0-1 @20", "out 1-2 @30", "err 1-2 @40"],
    ],
    [
      "at the same time stdout is first",
      stretchesOf([1, 10]),
      stretchesOf([1, 10]),
      ["out 0-1 @10", "err 0-1 @10"],
    ],
    ["one of them is empty", [], stretchesOf([1, 10, 1, 5]), ["err 0-1 @10", "err 1-2 @15"]],
    [
      "what has no time comes before what follows it",
      stretchesOf([1, 10], 4),
      stretchesOf(3, [1, 20]),
      ["err 0-3 @?", "out 0-1 @10", "out 1-5 @?", "err 3-4 @20"],
    ],
  ])("%s", (_what, stdout, stderr, expected) => {
    expect([...merged(stdout, stderr)].map(shown)).toEqual(expected);
  });

  const anyStream = fc
    .array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.nat(9)), { maxLength: 20 })
    .map((all) =>
      stretchesOf(
        ...all.map(([bytes], index) => [bytes, all.slice(0, index + 1).reduce((s, [, ms]) => s + ms, 0)]),
      ),
    );

  test("each byte comes once, in the order of its stream, and no time goes back", () => {
    fc.assert(
      fc.property(anyStream, anyStream, (stdout, stderr) => {
        const all = [...merged(stdout, stderr)];
        for (const [stream, stretches] of [["stdout", stdout] as const, ["stderr", stderr] as const]) {
          const own = all.filter((one) => one.stream === stream);
          const size = stretches.reduce((sum, { length }) => sum + length, 0);
          expect([0, ...own.map(({ to }) => to)]).toEqual([...own.map(({ from }) => from), size]);
        }
        const times = all.map(({ at }) => at ?? 0);
        expect(times).toEqual([...times].sort((a, b) => a - b));
      }),
    );
  });
});

describe("a page", () => {
  const [stdout, stderr] = [stretchesOf([1, 10, 1, 20]), stretchesOf([1, 20, 1, 20])];
  const from = { stdout: 0, stderr: 0 };

  test.each<[string, Parameters<typeof pageOfArrivals>[1], string[], { stdout: number; stderr: number }]>([
    [
      "has all that fits",
      { from, most: 9 },
      ["out 0-1 @10", "err 0-1 @20", "out 1-2 @30", "err 1-2 @40"],
      { stdout: 2, stderr: 2 },
    ],
    [
      "ends where the next begins",
      { from, most: 3 },
      ["out 0-1 @10", "err 0-1 @20", "out 1-2 @30"],
      { stdout: 2, stderr: 1 },
    ],
    [
      "leaves out what came before",
      { from, most: 9, since: START + 30 },
      ["out 1-2 @30", "err 1-2 @40"],
      { stdout: 2, stderr: 2 },
    ],
    ["may be empty", { from, most: 9, since: START + 99 }, [], { stdout: 2, stderr: 2 }],
  ])("%s", (_what, page, items, next) => {
    const found = pageOfArrivals(merged(stdout, stderr), page);
    expect([found.items.map(shown), found.next]).toEqual([items, next]);
  });

  test("ends once it is full, and the next one goes on there", () => {
    const first = pageOfArrivals(merged(stdout, stderr), { from, most: 9, isFull: () => true });
    expect([first.items.map(shown), first.next]).toEqual([["out 0-1 @10"], { stdout: 1, stderr: 0 }]);
  });

  test("never leaves out what has no time", () => {
    const found = pageOfArrivals(merged(stretchesOf(3), []), { from, most: 9, since: START + 99 });
    expect(found.items.map(shown)).toEqual(["out 0-3 @?"]);
  });
});

test("the first stretch since a time is found with few looks, whatever the log", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 60 }),
      fc.nat(3_000),
      (waits, sinceMs) => {
        let ms = 0;
        const all = stretchesOf(
          ...waits.map((wait) => {
            ms += wait;
            return [7, ms];
          }),
        );
        const size = waits.length * 7;
        let looks = 0;
        const stretchAt = (offset: number) => {
          looks += 1;
          return all.findLast(({ from }) => from <= offset);
        };
        const first = all.find(({ stamps = [] }) => (stamps[1] ?? 0) >= sinceMs);
        expect(stretchSince(stretchAt, size, sinceMs)).toBe(first?.from ?? size);
        expect(looks).toBeLessThanOrEqual(7);
      },
    ),
  );
});

test("a stretch without stamps counts as one that may have come since", () => {
  const all = stretchesOf([5, 10], 5, [5, 30]);
  const stretchAt = (offset: number) => all.findLast(({ from }) => from <= offset);
  expect(stretchSince(stretchAt, 15, 30)).toBe(5);
});
