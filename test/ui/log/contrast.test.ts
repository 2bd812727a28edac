import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contrastOf, LEAST_CONTRAST, type Rgb, readableOn } from "../../../ui/log/text/contrast.ts";

const color = fc.tuple(
  fc.integer({ min: 0, max: 255 }),
  fc.integer({ min: 0, max: 255 }),
  fc.integer({ min: 0, max: 255 }),
);

describe("contrast", () => {
  test("is that of WCAG 2", () => {
    expect(contrastOf([0, 0, 0], [255, 255, 255])).toBeCloseTo(21, 5);
    expect(contrastOf([119, 119, 119], [255, 255, 255])).toBeCloseTo(4.48, 2);
  });

  test("is enough on any ground (ui.md#log-text)", () => {
    fc.assert(
      fc.property(color, color, (text, ground) => {
        expect(contrastOf(readableOn(text, ground), ground)).toBeGreaterThanOrEqual(LEAST_CONTRAST);
      }),
    );
  });

  test("leaves what can be read", () => {
    const dark: Rgb = [20, 40, 60];
    expect(readableOn(dark, [255, 255, 255])).toEqual(dark);
  });
});
