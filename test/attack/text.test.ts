import fc from "fast-check";
import { expect, test } from "vitest";
import { asJson, printable } from "../../cli/terminal/text.ts";

// What a run, a host or a provider says is shown on the terminal of somebody else.

const HIDDEN = ["\u061c", "\u200b", "\u2028", "\u2029", "\ufeff", "\u{e0041}", "\u202e", "\u0085", "\u007f"];
const ACTS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

test.each(HIDDEN)("X21: %j is seen in text and in JSON, and JSON still means it", (char) => {
  const text = `a${char}b`;
  expect(printable(text)).not.toMatch(ACTS);
  expect(printable(text)).toMatch(/^a\\[xu].*b$/);
  expect(asJson({ [text]: text }, 0)).not.toMatch(ACTS);
  expect(JSON.parse(asJson({ [text]: text }))).toEqual({ [text]: text });
});

test("X21: no text at all acts on the terminal that shows it", () => {
  const acts = (shown: string) => shown.split("\n").some((line) => ACTS.test(line));
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(acts(printable(text))).toBe(false);
      expect(acts(asJson([text]))).toBe(false);
      expect(JSON.parse(asJson([text]))).toEqual([text]);
    }),
  );
});
