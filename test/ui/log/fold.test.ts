import { describe, expect, test } from "vitest";
import { BLOCK_BYTES } from "../../../ui/log/bytes/block.ts";
import {
  documentRows,
  type LogDocument,
  newDocument,
  withAttempt,
  withBytes,
  withWindow,
} from "../../../ui/log/bytes/document.ts";
import { prepend } from "../../../ui/log/bytes/window.ts";
import { type FoldRules, foldsAfter, groupsOf, NO_FOLDS } from "../../../ui/log/fold/groups.ts";
import { shownOf, stretchesOf, toDocument, toShown } from "../../../ui/log/fold/shown.ts";

const bytesFrom = (text: string) => new TextEncoder().encode(text);
const filled = (text: string, at = 0) => withBytes(newDocument("1.1", at), "1.1", at, bytesFrom(text));
const RULES: FoldRules = { choices: new Map(), isFollowing: true, opensLast: false };

/** The markers' bytes, and how many rows each group has. */
const sizesOf = (document: LogDocument) =>
  groupsOf(document).map(({ id, row, to }) => [id, to - row - 1] as const);
const openIn = (document: LogDocument, rules = RULES) => [...foldsAfter(NO_FOLDS, document, rules).open];

describe("groups (ui.md#groups)", () => {
  test.each([
    ["::group::one\na\nb\n::endgroup::\nc\n", [["1.1/0", 3]]],
    [
      "a\n--- one\nb\n--- two\nc\nd\n",
      [
        ["1.1/2", 1],
        ["1.1/12", 2],
      ],
    ],
    ["+++ one\na", [["1.1/0", 1]]],
    ["--- one", [["1.1/0", 0]]],
    ["---\n--- \n-- x\n +++ x\n---- x\n::grou\n", []],
    ["--- FAIL: TestX (0.00s)\n    x_test.go:1: why\n--- PASS: TestY\n", []],
    ["::endgroup::\na\n", []],
  ])("of %j are %j", (text, groups) => {
    expect(sizesOf(filled(text))).toEqual(groups);
  });

  test("end with their attempt", () => {
    const both = withAttempt(filled("--- one\na\n"), "1.2");
    const document = withBytes(both, "1.2", 0, bytesFrom("b\n::group::two\nc\n"));
    expect(groupsOf(document).map(({ row, to }) => [row, to])).toEqual([
      [0, 2],
      [4, 6],
    ]);
  });

  test("are found wherever a block ends", () => {
    for (let before = 1; before <= 14; before++) {
      const text = `${"x".repeat(BLOCK_BYTES - before - 1)}\n::group::one\na\n`;
      expect(sizesOf(filled(text))).toEqual([[`1.1/${BLOCK_BYTES - before}`, 1]]);
    }
  });

  test("do not begin in the middle of a line", () => {
    expect(sizesOf(filled("--- one\na\n", BLOCK_BYTES))).toEqual([]);
    // A row that is cut because its line is longer than a block.
    expect(sizesOf(filled(`${"x".repeat(BLOCK_BYTES)}--- one\na\n`))).toEqual([]);
  });
});

describe("a group is open (ui.md#groups)", () => {
  const text = "--- one\na\n+++ two\nb\n::group::three\nc\n";
  test("if it says so, or if it is the last one of a run that has failed", () => {
    expect(openIn(filled(text))).toEqual(["1.1/10"]);
    expect(openIn(filled(text), { ...RULES, opensLast: true })).toEqual(["1.1/10", "1.1/20"]);
  });

  test("as the reader has chosen, whatever comes", () => {
    const choices = new Map([
      ["1.1/0", true],
      ["1.1/10", false],
    ]);
    const more = withBytes(filled(text), "1.1", text.length, bytesFrom("--- four\n"));
    expect(openIn(more, { ...RULES, choices })).toEqual(["1.1/0"]);
  });

  test("until the next one comes, for a reader who follows, and on for one who does not (ui.md#d2)", () => {
    const rules = { ...RULES, opensLast: true };
    const before = foldsAfter(NO_FOLDS, filled("--- one\na\n"), rules);
    const more = filled("--- one\na\n--- two\nb\n");
    expect([...foldsAfter(before, more, rules).open]).toEqual(["1.1/10"]);
    const held = { ...rules, isFollowing: false };
    expect([...foldsAfter(before, more, held).open]).toEqual(["1.1/0", "1.1/10"]);
  });

  test("if its marker becomes known above rows that a reader may see (ui.md#d2)", () => {
    const tail = filled("a\nb\n--- later\nc\n", BLOCK_BYTES);
    const before = foldsAfter(NO_FOLDS, tail, RULES);
    const early = `--- far\n${"x\n".repeat(10)}--- around\n`;
    const bytes = bytesFrom(early.padEnd(BLOCK_BYTES - 1, "y").concat("\n"));
    const whole = withWindow(tail, "1.1", (window) => prepend(window, 0, bytes));
    const after = foldsAfter(before, whole, { ...RULES, isFollowing: false });
    expect(after.groups.map(({ id }) => id)).toEqual(["1.1/0", "1.1/28", `1.1/${BLOCK_BYTES + 4}`]);
    expect([...after.open]).toEqual(["1.1/28"]);
  });
});

describe("the shown rows of a folded document", () => {
  const document = filled("a\n--- one\nb\nc\n--- two\n+++ three\nd\n--- four\ne\n");
  const shown = shownOf(documentRows(document), foldsAfter(NO_FOLDS, document, RULES));

  test("are all but those in closed groups", () => {
    expect(shown.count).toBe(6);
    expect(stretchesOf(shown, { from: 0, to: 6 })).toEqual([
      { from: 0, to: 2 },
      { from: 4, to: 8 },
    ]);
  });

  test("are found again, and hidden rows are at their marker", () => {
    for (let row = 0; row <= shown.count; row++) expect(toShown(shown, toDocument(shown, row))).toBe(row);
    expect([2, 3, 8].map((row) => toShown(shown, row))).toEqual([1, 1, 5]);
    expect(toShown(shown, 4.25)).toBe(2.25);
    expect(toDocument(shown, 2.25)).toBe(4.25);
    expect(toDocument(shown, shown.count)).toBe(documentRows(document));
  });
});
