import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Anchor,
  anchorAt,
  contentPx,
  type Extent,
  endAnchor,
  isProportional,
  MAX_CONTENT_PX,
  movedBy,
  ROW_PX,
  rowsAround,
  settled,
} from "../../../ui/log/scroll.ts";

const VIEW_PX = 500;
const extentOf = (rows: number): Extent => ({ rows, viewPx: VIEW_PX });

/** Draws around an anchor, with the heights that rows have. */
function draw(anchor: Anchor, extent: Extent, heightOf: (row: number) => number = () => ROW_PX) {
  const { from, to } = rowsAround(anchor, extent);
  const heights = Array.from({ length: to - from }, (_, index) => heightOf(from + index));
  return { from, heights, ...settled(anchor, { from, heights }, extent) };
}

type Drawn = ReturnType<typeof draw>;

/** Where a drawn row begins in the view. */
function topOf({ from, heights, top }: Drawn, row: number): number {
  return top + heights.slice(0, row - from).reduce((sum, height) => sum + height, 0);
}

const bottomOf = (drawn: Drawn) => topOf(drawn, drawn.from + drawn.heights.length);

/** Rows of which some wrap. */
const wrapped = (row: number) => ROW_PX * (1 + ((row * 7) % 5));

describe("rows of one height (ui.md#log-rows)", () => {
  test.each([[0], [1], [333], [10_000], [1_000 * ROW_PX - VIEW_PX]])(
    "stand where a browser puts them at %i px",
    (scrollTop) => {
      const extent = extentOf(1_000);
      const drawn = draw(anchorAt(scrollTop, extent), extent);
      expect(topOf(drawn, drawn.from)).toBeCloseTo(drawn.from * ROW_PX - scrollTop, 6);
      expect(drawn.scrollTop).toBeCloseTo(scrollTop, 6);
    },
  );
});

describe.each([
  ["of one height", () => ROW_PX],
  ["that wrap", wrapped],
])("rows %s (ui.md#log-rows)", (_, heightOf) => {
  test.each([[40], [1_000], [5_000_000]])(
    "begin at the top and end at the bottom, if there are %i",
    (rows) => {
      const extent = extentOf(rows);
      const start = draw(anchorAt(0, extent), extent, heightOf);
      expect([start.from, start.top]).toEqual([0, 0]);
      const end = draw(endAnchor(extent), extent, heightOf);
      expect(end.from + end.heights.length).toBe(rows);
      expect(bottomOf(end)).toBeCloseTo(VIEW_PX, 6);
      expect(end.scrollTop).toBeCloseTo(contentPx(extent) - VIEW_PX, 3);
    },
  );

  test("fill the view at each position of the bar, and the bar stays there", () => {
    const property = fc.property(
      fc.integer({ min: 26, max: 3_000_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (rows, share) => {
        const extent = extentOf(rows);
        const scrollTop = share * (contentPx(extent) - VIEW_PX);
        const drawn = draw(anchorAt(scrollTop, extent), extent, heightOf);
        expect(drawn.top).toBeLessThanOrEqual(0.001);
        expect(bottomOf(drawn)).toBeGreaterThanOrEqual(VIEW_PX - 0.001);
        expect(drawn.scrollTop).toBeCloseTo(scrollTop, 2);
      },
    );
    fc.assert(property);
  });

  test("move by pixels, also where the bar cannot tell pixels apart", () => {
    const extent = extentOf(3_000_000);
    let drawn = draw(anchorAt(7_000_000, extent), extent, heightOf);
    const row = drawn.from + 10;
    for (const step of [30, 30, -20]) {
      const before = topOf(drawn, row);
      drawn = draw(movedBy(drawn.anchor, step), extent, heightOf);
      expect(topOf(drawn, row)).toBeCloseTo(before - step, 4);
    }
  });

  test("do not move beyond the ends", () => {
    const extent = extentOf(1_000);
    const start = draw(movedBy({ row: 0, y: 0 }, -100), extent, heightOf);
    expect([start.top, start.scrollTop]).toEqual([0, 0]);
    const end = draw(movedBy(endAnchor(extent), 100), extent, heightOf);
    expect(bottomOf(end)).toBeCloseTo(VIEW_PX, 6);
  });
});

describe("few rows", () => {
  test("stand at the top, and do not scroll", () => {
    const extent = extentOf(3);
    expect(Math.abs(draw(endAnchor(extent), extent).top)).toBe(0);
  });

  test("scroll if one of them is higher than the view", () => {
    const extent = extentOf(3);
    const heightOf = (row: number) => (row === 1 ? 2_000 : ROW_PX);
    const end = draw(endAnchor(extent), extent, heightOf);
    expect(bottomOf(end)).toBe(VIEW_PX);
    expect(contentPx(extent, 2_040) - VIEW_PX).toBe(end.scrollTop);
    expect(draw(anchorAt(700, extent), extent, heightOf)).toMatchObject({ top: -700, scrollTop: 700 });
  });
});

test("what scrolls is never higher than browsers allow (ui.md#log-rows)", () => {
  const most = MAX_CONTENT_PX / ROW_PX;
  expect([isProportional(extentOf(most)), isProportional(extentOf(most + 1))]).toEqual([false, true]);
  expect(contentPx(extentOf(10 * most))).toBe(MAX_CONTENT_PX);
});
