import { expect, test } from "vitest";
import { because, clause } from "../../src/shared/words.ts";

test.each([
  ["killed by ann", "enough", "killed by ann: enough"],
  ["killed by ann", "", "killed by ann"],
  ["killed by ann", " ", "killed by ann"],
])("P9: %j for the reason %j is told as %j", (what, reason, text) => {
  expect(because(what, reason)).toBe(text);
});

test.each([
  ["It was refused (quota).", "It was refused (quota)"],
  ["no full stop", "no full stop"],
  ["and so on...", "and so on..."],
  ["a line.\n", "a line"],
  ["", ""],
])("P3: %j as a part of a sentence", (text, part) => {
  expect(clause(text)).toBe(part);
});
