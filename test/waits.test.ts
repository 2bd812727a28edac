import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { RUN_REASONS } from "../src/core/allocation/read/why.ts";
import { WAIT_CODES } from "../src/core/pool/read/views.ts";
import { WORKER_REASONS } from "../src/core/worker/read/reasons.ts";
import { readDocument } from "./docs/support/examples.ts";
import { hasTitle } from "./support/findings.ts";

interface Wait {
  what: string;
  codes: string[];
  deadline: string;
  owner: string;
  wayOut: string;
  file: string;
  title: string;
}

/** The rows of the tables in `docs/design/waits.md`: seven columns each. */
function waits(): Wait[] {
  const lines = readDocument("docs/design/waits.md").split("\n");
  const rows = lines.filter((line) => /^\| (?!Who |---)/.test(line));
  return rows.map((line) => {
    const [what = "", reason = "", deadline = "", owner = "", wayOut = "", tested = ""] = line
      .split(" | ")
      .map((cell) => cell.replace(/^\| | \|$/g, "").trim());
    const [, file = "", title = ""] = /^`([^`]+)`: (.+)$/.exec(tested) ?? [];
    const codes = [...reason.matchAll(/`(\w+)`/g)].map(([, code = ""]) => code);
    return { what, codes, deadline, owner, wayOut, file, title };
  });
}

const WAITS = waits();
/** What is no wait: it is over, or it goes on by itself. */
const NO_WAITS = ["ended", "gone"];

test.each(WAITS.map((wait) => [wait.what, wait] as const))("N1, A3: it has all it needs: %s", (_, wait) => {
  for (const cell of [wait.deadline, wait.owner, wait.wayOut]) expect(cell).not.toBe("");
  expect(existsSync(wait.file), `there is no ${wait.file}`).toBe(true);
  const isThere = hasTitle(wait.file, readDocument(wait.file), wait.title);
  expect(isThere, `no test of ${wait.file} is called "${wait.title}"`).toBe(true);
});

test("A3: every reason that a run or a worker gives for waiting has a row", () => {
  const codes = [...RUN_REASONS, ...WAIT_CODES, ...WORKER_REASONS].filter((code) => !NO_WAITS.includes(code));
  const told = new Set(WAITS.flatMap((wait) => wait.codes));
  expect(codes.filter((code) => !told.has(code))).toEqual([]);
});

test.each([
  ['test("it waits", () => {});', true],
  ['test.each([1])("it waits %s", () => {});', true],
  ['const rows = [\n  ["it waits", 1],\n];', true],
  ['// test("it waits")', false],
  ['const text = "so it waits";', false],
])("a title is that of a test, and no other text: %j", (text, found) => {
  expect(hasTitle("a.test.ts", text, "it waits")).toBe(found);
});
