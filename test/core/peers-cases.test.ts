import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryFiles } from "../tidy/source.ts";
import { PEERS_CASES } from "./support/peers-cases.ts";

// Tests cite a case in their names, or where that gets too long in a comment above: "peers.md §8 case 7".

const files = repositoryFiles(join(import.meta.dirname, "..", ".."));
const tests = files.filter(({ path }) => /^test\/.*\.test\.ts$/.test(path) && !path.includes("peers-cases"));
const cited = new Set(
  tests.flatMap(({ text }) => [...text.matchAll(/peers\.md §8 case (\d+)/g)].map(([, n]) => Number(n))),
);
const cases = Object.keys(PEERS_CASES).map(Number);

test.each(cases)("case %i has a test (peers.md §8)", (number) => {
  expect(cited).toContain(number);
});

test("there are 22, and none else is cited", () => {
  expect(cases).toHaveLength(22);
  expect([...cited].filter((number) => !cases.includes(number))).toEqual([]);
});
