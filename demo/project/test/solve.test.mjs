import assert from "node:assert/strict";
import { test } from "node:test";
import { format, isSolved, parse } from "../src/board.mjs";
import { makePuzzle } from "../src/make.mjs";
import { isPuzzle, solve } from "../src/solve.mjs";

const EASY = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
const HARD = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..";

test("solves an easy puzzle as printed", () => {
  const solution = "534678912672195348198342567859761423426853791713924856961537284287419635345286179";
  assert.equal(format(solve(parse(EASY))), solution);
});

test("solves a puzzle that was made to be hard", () => {
  assert.ok(isSolved(solve(parse(HARD))));
});

test("a board with a cell that no digit fits has no solution", () => {
  assert.equal(solve(parse(`12345678.........9${".".repeat(63)}`)), undefined);
});

test("an empty board has more than one solution", () => {
  assert.equal(isPuzzle(new Array(81).fill(0)), false);
});

for (let seed = 101; seed <= 116; seed += 1) {
  test(`puzzle ${seed} has one solution, and needs each of its clues`, () => {
    const puzzle = makePuzzle(seed);
    assert.ok(isPuzzle(puzzle));
    for (const [cell, digit] of puzzle.entries()) {
      if (digit === 0) continue;
      const without = puzzle.with?.(cell, 0) ?? puzzle.map((own, at) => (at === cell ? 0 : own));
      assert.equal(isPuzzle(without), false);
    }
  });
}
