import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { contrastOf, LEAST_CONTRAST, type Rgb } from "../../../ui/log/text/contrast.ts";
import { DARK, LIGHT } from "../../../ui/log/text/style.ts";

const ROOT = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const rgb = (hex: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as Rgb;

/** The colors of rules with one of these names of classes: for the light theme and for the dark one. */
function colors(property: "color" | "background", name: RegExp): [string, Rgb, Rgb][] {
  const rule = new RegExp(`\\.(log-[\\w-]+) \\{\\n  ${property}: light-dark\\((#\\w{6}), (#\\w{6})\\);`, "g");
  const found = [...read("ui/log/log.css").matchAll(rule)].filter(([, of = ""]) => name.test(of));
  return found.map(([, of = "", light = "", dark = ""]) => [of, rgb(light), rgb(dark)]);
}

const TEXTS = colors("color", /^log-(?:bright-)?(?:black|red|green|yellow|blue|magenta|cyan|white)$/);
const GROUNDS = colors("background", /^log-on-/);

describe("the 16 colors (ui.md#log-text)", () => {
  test("are all there, and so are 8 grounds", () => {
    expect([TEXTS.length, GROUNDS.length]).toEqual([16, 8]);
  });

  test("can be read on each ground, in both themes", () => {
    const grounds = [...GROUNDS, ["the page", LIGHT, DARK] as const];
    const weak = TEXTS.flatMap(([text, light, dark]) =>
      grounds
        .filter(([, onLight, onDark]) => {
          return contrastOf(light, onLight) < LEAST_CONTRAST || contrastOf(dark, onDark) < LEAST_CONTRAST;
        })
        .map(([ground]) => `${text} on ${ground}`),
    );
    expect(weak).toEqual([]);
  });

  test("are made for the grounds that the pages have", () => {
    const [, light = "", dark = ""] = /--back: light-dark\((#\w+), (#\w+)\)/.exec(read("ui/style.css")) ?? [];
    expect([rgb(light), rgb(dark)]).toEqual([LIGHT, DARK]);
  });
});
