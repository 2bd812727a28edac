import { describe, expect, test } from "vitest";
import { lineFinder } from "../../../ui/log/bytes/line-finder.ts";
import { placeIn, withPlace } from "../../../ui/log/bytes/place.ts";

describe("a link to a place (ui.md#d8)", () => {
  test.each([
    ["b=10240-10980", { unit: "bytes", from: 10_240, to: 10_980 }],
    ["l=120-140", { unit: "lines", from: 120, to: 140 }],
    ["l=7", { unit: "lines", from: 7, to: 7 }],
  ] as const)("%s is understood, and written the same again", (query, place) => {
    expect(placeIn(new URLSearchParams(query))).toEqual(place);
    expect(String(withPlace(new URLSearchParams(), place))).toBe(query);
  });

  test.each([[""], ["b=5"], ["b=9-5"], ["b=5-5"], ["l=0"], ["l=9-5"], ["l=x"], ["b=1-9999999999999"]])(
    "%j is none",
    (query) => {
      expect(placeIn(new URLSearchParams(query))).toBeUndefined();
    },
  );

  test("takes the place of another, and leaves the rest of the query", () => {
    const query = withPlace(new URLSearchParams("attempt=1.2&b=1-2"), { unit: "lines", from: 3, to: 3 });
    expect(String(query)).toBe("attempt=1.2&l=3");
    expect(String(withPlace(query, undefined))).toBe("attempt=1.2");
  });
});

describe("lines are found by their numbers (ui.md#d8)", () => {
  const log = new TextEncoder().encode("one\ntwo\n\nfour\nfive");

  test.each([
    [1, 1, { from: 0, to: 4 }],
    [2, 3, { from: 4, to: 9 }],
    [3, 3, { from: 8, to: 9 }],
    [4, 5, { from: 9, to: 18 }],
    [5, 9, { from: 14, to: 18 }],
    [6, 6, undefined],
  ])("%i to %i", (first, last, bytes) => {
    for (const step of [1, 3, 100]) {
      const finder = lineFinder(first, last);
      let found: ReturnType<typeof finder.take>;
      for (let at = 0; at < log.length && found === undefined; at += step) {
        found = finder.take(log.slice(at, at + step));
      }
      expect(found ?? finder.end()).toEqual(bytes);
    }
  });

  test("from a byte on whose line has a known number, and only behind it", () => {
    const inLineTwo = { from: 5, line: 2 };
    expect(lineFinder(3, 4, inLineTwo).take(log.slice(5))).toEqual({ from: 8, to: 14 });
    const rest = lineFinder(5, 5, inLineTwo);
    rest.take(log.slice(5));
    expect(rest.end()).toEqual({ from: 14, to: 18 });
    const never = lineFinder(2, 2, inLineTwo);
    never.take(log.slice(5));
    expect(never.end()).toBeUndefined();
  });
});
