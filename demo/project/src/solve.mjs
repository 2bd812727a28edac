import { CELLS, PEERS } from "./board.mjs";

const ALL = 0b111_111_111;

/** All solutions of a board, one after the other. Fills the cell with the fewest candidates first. */
export function* solutions(board) {
  const cell = narrowest(board);
  if (cell === undefined) {
    yield [...board];
    return;
  }
  for (let left = candidates(board, cell); left !== 0; left &= left - 1) {
    const next = [...board];
    next[cell] = Math.log2(left & -left) + 1;
    yield* solutions(next);
  }
}

/** The first solution; undefined if there is none. */
export function solve(board) {
  return solutions(board).next().value;
}

/** Whether a board has exactly one solution, as a puzzle must. */
export function isPuzzle(board) {
  const found = solutions(board);
  return !found.next().done && found.next().done === true;
}

function narrowest(board) {
  let best;
  let fewest = 10;
  for (let cell = 0; cell < CELLS; cell += 1) {
    if (board[cell] !== 0) continue;
    const count = bits(candidates(board, cell));
    if (count < fewest) [best, fewest] = [cell, count];
  }
  return best;
}

/** The digits that a cell may have, as bits. */
function candidates(board, cell) {
  let mask = ALL;
  for (const peer of PEERS[cell]) if (board[peer] !== 0) mask &= ~(1 << (board[peer] - 1));
  return mask;
}

function bits(mask) {
  let count = 0;
  for (let left = mask; left !== 0; left &= left - 1) count += 1;
  return count;
}
