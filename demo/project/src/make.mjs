import { CELLS } from "./board.mjs";
import { isPuzzle, solve } from "./solve.mjs";

/**
 * A puzzle with exactly one solution: removing any digit would allow more. The same seed gives the same
 * puzzle.
 */
export function makePuzzle(seed) {
  const random = generator(seed);
  const empty = new Array(CELLS).fill(0);
  // The three boxes on the diagonal share no row or column, so random digits there always fit.
  for (let box = 0; box < 3; box += 1) {
    const digits = shuffled([1, 2, 3, 4, 5, 6, 7, 8, 9], random);
    for (let i = 0; i < 9; i += 1) empty[box * 30 + Math.floor(i / 3) * 9 + (i % 3)] = digits[i];
  }
  const puzzle = solve(empty);
  for (const cell of shuffled([...puzzle.keys()], random)) {
    const digit = puzzle[cell];
    puzzle[cell] = 0;
    if (!isPuzzle(puzzle)) puzzle[cell] = digit;
  }
  return puzzle;
}

function shuffled(items, random) {
  for (let i = items.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [items[i], items[j]] = [items[j], items[i]];
  }
  return items;
}

/** A 32-bit linear congruential generator: good enough to vary puzzles, and the same everywhere. */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
