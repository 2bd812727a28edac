import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_STATES, patternOf } from "../../../src/core/job/params/pattern.ts";
import { MAX_PATTERN_CHARS, MAX_PATTERN_VALUE_BYTES } from "../../../src/shared/jobs/limits.ts";
import { sized } from "../../chance/length.ts";

function matches(pattern: string, text: string): boolean {
  const read = patternOf(pattern);
  if (typeof read === "string") throw new Error(read);
  return read.matches(text);
}

describe("a pattern is about the whole text (jobs.md#patterns)", () => {
  test.each([
    ["v\\d+\\.\\d+", ["v1.2", "v10.20"], ["v1", "v1.2.3", "xv1.2", "v1.2\n"]],
    ["^main|release/[a-z]+$", ["main", "release/a"], ["main2", "release/", "xmain"]],
    ["[\\p{L}_][^/\\]]*", ["éa-1", "_"], ["1", "a/b", "a]"]],
    ["(?:ab?){2,3}", ["aa", "abab", "aaba"], ["a", "aaaa", ""]],
    ["(?<year>\\d{4})-(\\d\\d)", ["2026-11"], ["2026-1"]],
    [".{0,2}", ["", "🐎", "ab"], ["abc", "\n"]],
    ["a*?b+?", ["b", "aabb"], ["a"]],
    ["\\u0041\\x42\\u{1F40E}\\$", ["AB🐎$"], ["AB$"]],
    ["[a-c\\d-]+", ["a-1"], ["d"]],
    ["\\ud83d\\udc0e[\\u{1F40E}]", ["🐎🐎"], ["🐎"]],
    ["", [""], ["a"]],
  ])("%s", (pattern, good, bad) => {
    expect(good.filter((text) => !matches(pattern, text))).toEqual([]);
    expect(bad.filter((text) => matches(pattern, text))).toEqual([]);
  });

  test.each([
    ["(", "is not a regular expression: /(/u: Unterminated group"],
    ["a{2", "is not a regular expression"],
    ["(?=a)", "looks ahead or behind, or changes flags, which is not supported"],
    ["(?<!a)b", "looks ahead or behind"],
    ["(a)\\1", "refers back to a group, which is not supported"],
    ["(?<n>a)\\k<n>", "refers back to a group"],
    ["\\bword", "has `\\b`, the edge of a word, which is not supported"],
    ["a^b", "has `^` in the middle"],
    ["a$b", "has `$` in the middle"],
    ["(a{100}){100}", `is too large: written out, it must have at most ${MAX_STATES} parts`],
    ["a{1000000}", "is too large"],
    ["(a?){99999}", "is too large"],
    ["((((a{9}){9}){9}){9}){9}", "is too large"],
  ])("%s is refused: %s", (pattern, problem) => {
    expect(patternOf(pattern)).toContain(problem);
  });

  test.each(["(((){1000}){1000}){1000}", "((((){1000}){1000}){1000}){1000}", "((a{0}){999}){999}"])(
    "what is empty is empty, however often it is to come: %s",
    (pattern) => {
      expect([matches(pattern, ""), matches(pattern, "a")]).toEqual([true, false]);
    },
  );

  test("as many parts as possible are taken, and not one more", () => {
    expect(typeof patternOf(`a{${MAX_STATES}}`)).toBe("object");
    expect(typeof patternOf(`a{${MAX_STATES + 1}}`)).toBe("string");
  });
});

// A few characters and constructs, so that texts match often enough.
const { tree } = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom("a", "b", "[ab]", "[^a]", ".", "\\w"),
    fc.tuple(tie("tree"), tie("tree")).map(([a, b]) => a + b),
    fc.tuple(tie("tree"), tie("tree")).map(([a, b]) => `(${a}|${b})`),
    fc
      .tuple(tie("tree"), fc.constantFrom("*", "+", "?", "{2}", "{1,2}", "{1,}", "*?"))
      .map(([a, q]) => `(?:${a})${q}`),
  ),
}));
const text = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 8 }).map((parts) => parts.join(""));

test("it decides as JavaScript does", () => {
  fc.assert(
    fc.property(tree, text, (pattern, value) => {
      const read = patternOf(pattern);
      if (typeof read === "string") return;
      expect(read.matches(value)).toBe(new RegExp(`^(?:${pattern})$`, "u").test(value));
    }),
    { numRuns: sized(2_000, 50_000) },
  );
});

test.each(["(a+)+$", "(a|a)*b", "(a*)*b", "(.*a){12}", "(\\w+\\s?)*!", "(a|aa)+c"])(
  "no pattern takes long, where backtracking would take years: %s",
  (pattern) => {
    expect(matches(pattern, `${"a".repeat(MAX_PATTERN_VALUE_BYTES - 1)}?`)).toBe(false);
  },
);

test("nor does the largest pattern with the largest text", () => {
  const largest = `(${"a?".repeat((MAX_PATTERN_CHARS - 8) / 2)}){4}b`;
  expect(matches(largest, "a".repeat(MAX_PATTERN_VALUE_BYTES))).toBe(false);
});
