// Holds the register of findings (docs/design/findings.md) to the tests: each finding has a test whose title
// begins with its number and a colon, in the file that the register names, or the register gives a reason.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Citation, citationsIn, registerRows } from "./support/findings.ts";
import { repositoryFiles } from "./tidy/source.ts";

const files = repositoryFiles(join(import.meta.dirname, ".."));
const register = files.find(({ path }) => path === "docs/design/findings.md")?.text ?? "";
const rows = registerRows(register);
const numbers = rows.map(({ number }) => number);
const citations = files
  .filter(({ path }) => /^test\/.*\.test\.ts$/.test(path) && path !== "test/findings.test.ts")
  .flatMap(({ path, text, code }) => citationsIn(path, text, code));

/** P1 to P43, and so on: every number that was given out. */
function series(prefix: string, last: number): string[] {
  return Array.from({ length: last }, (_, index) => `${prefix}${index + 1}`);
}

const A6 = [
  "story1-late-quick",
  "story1-twice-seen",
  "story2-why-says-how-often",
  "why-silent",
  "plain-boot",
  "M04-last",
  "M-queue",
];
const GIVEN_OUT = [
  ...series("P", 43),
  ...series("A", 5),
  ...A6.map((name) => `A6 ${name}`),
  ...series("N", 10),
  ...series("O", 6),
  ...series("S", 10),
  ...series("W", 10),
  ...series("X", 26),
  "SN",
];

describe("the register of findings", () => {
  test("has each number once", () => {
    expect([...numbers].sort()).toEqual([...GIVEN_OUT].sort());
  });

  test.each(rows)("$number has its test where the register says, or a reason", (row) => {
    if (row.reason !== undefined && row.files.length === 0)
      return expect(row.reason.length).toBeGreaterThan(20);
    const cited = citations.filter(({ number }) => number === row.number).map(({ path }) => path);
    expect(row.files.length, "the register names a test file, or gives a reason").toBeGreaterThan(0);
    for (const file of row.files)
      expect(cited, `a title in ${file} begins with "${row.number}:"`).toContain(file);
  });

  test("knows every number that a test cites", () => {
    expect(citations.filter(({ number }) => !numbers.includes(number))).toEqual([]);
  });

  test("says what a test needs that does not run everywhere, and cites none that never runs", () => {
    const conditional = new Map(rows.map(({ number, needs }) => [number, needs !== undefined]));
    const silent = (citation: Citation): boolean =>
      citation.skipped === "always" ||
      (citation.skipped === "sometimes" && !conditional.get(citation.number));
    const runEverywhere = new Set(
      citations.filter(({ skipped }) => skipped === "never").map(({ number }) => number),
    );
    expect(citations.filter((citation) => silent(citation) && !runEverywhere.has(citation.number))).toEqual(
      [],
    );
  });
});

describe("the reader of titles", () => {
  test.each<[string, Partial<Citation>[]]>([
    ['test("P1: a run", () => {});', [{ number: "P1", skipped: "never" }]],
    ['test.each([\n  ["a", 1],\n])(\n  "P2, N10: a run %s",\n', [{ number: "P2" }, { number: "N10" }]],
    [
      'describe.skipIf(!isRoot)("A6 why-silent: a worker", () => {',
      [{ number: "A6 why-silent", skipped: "sometimes" }],
    ],
    ['const rows = [\n  ["N2: a row", 1],\n];', [{ number: "N2", skipped: "never" }]],
    ['test.runIf(x).each([["N2: a row", 1]])', [{ number: "N2", skipped: "sometimes" }]],
    ['test.skip("S3: a log", () => {});', [{ number: "S3", skipped: "always" }]],
    ['test("no number here", () => {}); // test("P3: in a comment")', []],
    ['expect(text).toBe("P4: no title");', []],
  ])("%j", (text, expected) => {
    expect(citationsIn("a.test.ts", text)).toEqual(
      expected.map((citation) => expect.objectContaining(citation)),
    );
  });
});
