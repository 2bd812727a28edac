import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryFiles } from "../tidy/source.ts";

// Holds the hard cases (docs/design/cases.md) to the tests: each has one that cites it in its name, or where
// that gets too long in a comment above, as "cases.md#case-7".

const files = repositoryFiles(join(import.meta.dirname, "..", ".."));
const page = files.find(({ path }) => path === "docs/design/cases.md")?.text ?? "";
const tests = files.filter(({ path }) => /^test\/.*\.test\.ts$/.test(path) && !path.includes("peers-cases"));
const cited = new Set(
  tests.flatMap(({ text }) => [...text.matchAll(/cases\.md#case-(\d+)/g)].map(([, n]) => Number(n))),
);
// A paragraph begins with its anchor and the same number for people.
const cases = [...page.matchAll(/^<a id="case-(\d+)"><\/a>\*\*\1\. /gm)].map(([, n]) => Number(n));

test.each(cases)("case %i has a test (docs/design/cases.md)", (number) => {
  expect(cited).toContain(number);
});

test("there are 22, and none else is cited", () => {
  expect(cases).toEqual(Array.from({ length: 22 }, (_, index) => index + 1));
  expect([...cited].filter((number) => !cases.includes(number))).toEqual([]);
});
