// Makes a book of puzzles, each with its solution, in dist/puzzles.json.
import { mkdirSync, writeFileSync } from "node:fs";
import { format } from "./src/board.mjs";
import { makePuzzle } from "./src/make.mjs";
import { solve } from "./src/solve.mjs";

const PAGES = 60;
const book = [];
for (let page = 1; page <= PAGES; page += 1) {
  const puzzle = makePuzzle(page);
  book.push({ page, puzzle: format(puzzle), solution: format(solve(puzzle)) });
  if (page % 5 !== 0) continue;
  console.log(`page ${String(page).padStart(2)}  ${format(puzzle)}  ${puzzle.filter(Boolean).length} clues`);
}
mkdirSync("dist", { recursive: true });
writeFileSync("dist/puzzles.json", JSON.stringify(book, undefined, 2));
console.log(`built dist/puzzles.json with ${book.length} puzzles`);
