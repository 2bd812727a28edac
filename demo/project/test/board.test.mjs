import assert from "node:assert/strict";
import { test } from "node:test";
import { format, isSolved, PEERS, parse } from "../src/board.mjs";

test("every cell has 20 peers, and is a peer of each of them", () => {
  for (const [cell, peers] of PEERS.entries()) {
    assert.equal(peers.length, 20);
    for (const peer of peers) assert.ok(PEERS[peer].includes(cell));
  }
});

test("a board survives being written and read", () => {
  const text = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
  assert.equal(format(parse(text)), text);
});

test("a board of another size is refused", () => {
  assert.throws(() => parse("12345"), /81 cells, not 5/);
});

test("a full board with a digit twice in a row is not solved", () => {
  assert.equal(isSolved(new Array(81).fill(1)), false);
});
