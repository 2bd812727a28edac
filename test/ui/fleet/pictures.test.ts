import { describe, expect, test } from "vitest";
import type { Part } from "../../../ui/fleet/past/bars.ts";
import { areaOf, boxesOf, fillOf, pixelOf, sharesOf } from "../../../ui/fleet/past/draw.ts";
import { linesOf, lookAt, rowsOf } from "../../../ui/fleet/past/queue.ts";
import { markMsFor, marksOf, markText, RANGES, rangeOf } from "../../../ui/fleet/range.ts";

const MINUTE = 60_000;
const FRAME = { fromMs: 0, toMs: 1_000, width: 100, height: 10 };
const part = (kind: Part["kind"], fromMs: number, toMs: number): Part => ({ kind, fromMs, toMs });
const reach = (fromMs: number, toMs: number, share: number | null) => ({
  fromMs,
  toMs,
  look: { atMs: fromMs, running: 1, share },
});

describe("what is drawn of parts (ui.md#fleet)", () => {
  test("a part is a box from its first to its last pixel", () => {
    expect(pixelOf(500, FRAME)).toBe(50);
    const parts = [part("idle", 0, 100), part("running", 100, 300), part("idle", 300, 1_000)];
    expect(boxesOf(parts, "idle", FRAME)).toBe("M0 10V0H10V10ZM30 10V0H100V10Z");
    expect(boxesOf(parts, "unknown", FRAME)).toBe("");
  });

  test("what is shorter than a pixel is still one pixel wide, and many of them are one", () => {
    const short = Array.from({ length: 5 }, (_, index) => part("running", 500 + index, 500.5 + index));
    expect(boxesOf([part("booting", 0, 1)], "booting", FRAME)).toBe("M0 10V0H1V10Z");
    expect(boxesOf(short, "running", FRAME)).toBe("M50 10V0H51V10Z");
  });

  test("what runs has one frame, and is filled by the share of its time, if that is known", () => {
    const shares = sharesOf([reach(0, 500, 0.5), reach(500, 600, null), reach(700, 950, 1)], FRAME);
    expect(shares.filter((share) => share === null)).toHaveLength(25);
    const parts = [part("idle", 0, 100), part("running", 100, 800), part("running", 800, 1_000)];
    expect(boxesOf(parts, "running", FRAME)).toBe("M10 10V0H100V10Z");
    expect(fillOf(parts, shares, FRAME)).toBe("M10 10H10V5H50V10H70V0H95V10H100V10Z");
  });

  test("counts of a type are an area", () => {
    const steps = [
      { atMs: 100, count: 1 },
      { atMs: 500, count: 2 },
    ];
    expect(areaOf(steps, 2, FRAME)).toBe("M10 10H10V5H50V0H100V10Z");
    expect(areaOf([], 0, FRAME)).toBe("");
  });
});

describe("the queue over time (ui.md#fleet)", () => {
  const look = (minute: number, depth: number, oldest: number) => ({
    atMs: minute * MINUTE,
    depth,
    oldestMs: oldest * MINUTE,
  });
  const looks = [look(1, 2, 1), look(6, 3, 6), look(30, 0, 0)];

  test("a line breaks where no look reaches", () => {
    const { atSeconds, depth, oldestSeconds } = linesOf(looks);
    expect(atSeconds.map((seconds) => seconds / 60)).toEqual([1, 6, 11, 30]);
    expect(depth).toEqual([2, 3, null, 0]);
    expect(oldestSeconds).toEqual([60, 360, null, 0]);
  });

  test("a row has the most of its time, and says nothing of a time without looks", () => {
    const rows = rowsOf(looks, { fromMs: 0, toMs: 30 * MINUTE }, 10 * MINUTE);
    expect(rows.map(({ toMs, depth, oldestMs }) => [toMs / MINUTE, depth, oldestMs])).toEqual([
      [30, 0, 0],
      [20, null, null],
      [10, 3, 6 * MINUTE],
    ]);
  });

  test.each(RANGES)("a table of $word has at most 50 rows (ui.md#d14)", ({ lengthMs, rowMs }) => {
    const rows = rowsOf([], { fromMs: 0, toMs: lengthMs }, rowMs);
    expect(rows.length).toBe(lengthMs / rowMs);
    expect(rows.length).toBeLessThanOrEqual(50);
  });

  test("the cursor tells the nearest look, if one reaches so far", () => {
    expect(lookAt(looks, 4 * MINUTE)).toBe(looks[1]);
    expect(lookAt(looks, 11 * MINUTE)).toBe(looks[1]);
    expect(lookAt(looks, 18 * MINUTE)).toBeUndefined();
    expect(lookAt([], 0)).toBeUndefined();
  });
});

describe("the marks of the axis of time", () => {
  test("are at round times in UTC", () => {
    const fromMs = Date.parse("2026-11-21T08:15:00Z");
    const marks = marksOf({ fromMs, toMs: fromMs + 3 * 3_600_000 }, 3_600_000);
    expect(marks.map((atMs) => markText(atMs, 3_600_000))).toEqual(["09:00", "10:00", "11:00"]);
    expect(markText(Date.parse("2026-11-21T00:00:00Z"), 86_400_000)).toBe("21 Nov");
    expect(marksOf({ fromMs, toMs: fromMs + 60_000 }, 3_600_000)).toEqual([]);
  });

  test("are farther apart in a narrow picture, so that their labels do not touch", () => {
    const apart = (widthPx: number) => markMsFor(rangeOf("6h"), widthPx) / 3_600_000;
    expect([apart(1_000), apart(288), apart(287), apart(100), apart(1)]).toEqual([1, 1, 2, 4, 8]);
  });

  test("a word that is no range means six hours (ui.md#d15)", () => {
    expect(["7d", "6h", "", "1y"].map((word) => rangeOf(word).word)).toEqual(["7d", "6h", "6h", "6h"]);
  });
});
