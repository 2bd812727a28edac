import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { isSolved, parse } from "../src/board.mjs";
import { isPuzzle } from "../src/solve.mjs";

const book = JSON.parse(readFileSync(new URL("../dist/puzzles.json", import.meta.url), "utf8"));

test("the book has 60 different puzzles", () => {
  assert.equal(new Set(book.map(({ puzzle }) => puzzle)).size, 60);
});

test("each puzzle of the book has the one solution that is printed with it", () => {
  for (const { puzzle, solution } of book) {
    assert.ok(isPuzzle(parse(puzzle)));
    assert.ok(isSolved(parse(solution)));
    for (const [cell, digit] of parse(puzzle).entries()) {
      if (digit !== 0) assert.equal(solution[cell], String(digit));
    }
  }
});
