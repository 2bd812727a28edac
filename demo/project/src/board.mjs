/** A board is 81 numbers, row by row; 0 is an empty cell. */
export const CELLS = 81;

/** For each cell, the other cells that must not have the same digit. */
export const PEERS = Array.from({ length: CELLS }, (_, cell) => {
  const peers = new Set();
  const row = Math.floor(cell / 9);
  const column = cell % 9;
  const corner = Math.floor(row / 3) * 27 + Math.floor(column / 3) * 3;
  for (let i = 0; i < 9; i += 1) {
    peers.add(row * 9 + i).add(i * 9 + column);
    peers.add(corner + Math.floor(i / 3) * 9 + (i % 3));
  }
  peers.delete(cell);
  return [...peers];
});

/** Reads a board of 81 characters. A character other than 1 to 9 is an empty cell. */
export function parse(text) {
  if (text.length !== CELLS) throw new RangeError(`A board has ${CELLS} cells, not ${text.length}.`);
  return Array.from(text, (character) => (/[1-9]/.test(character) ? Number(character) : 0));
}

export function format(board) {
  return board.map((digit) => digit || ".").join("");
}

/** Whether a board is full, and no digit appears twice in a row, a column or a box. */
export function isSolved(board) {
  return board.every((digit, cell) => digit > 0 && PEERS[cell].every((peer) => board[peer] !== digit));
}
