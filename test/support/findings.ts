import { sourceFile } from "../tidy/source.ts";

/** One line of the register of findings. */
export interface Row {
  number: string;
  /** The test files that the line names. */
  files: string[];
  /** Why there is no test, or why something of the finding is left to another piece of work. */
  reason: string | undefined;
  /** What a machine must have for the test to run there: `needs root`. */
  needs: string | undefined;
}

/** A title of a test or of a group of tests that begins with the number of a finding. */
export interface Citation {
  path: string;
  number: string;
  /** Whether the test is left out: `sometimes` on machines that lack something. */
  skipped: "never" | "sometimes" | "always";
}

const NUMBER = /A6 [\w-]+|[PANOSWX]\d+|SN/;
const ROW = new RegExp(`^\\| (${NUMBER.source}) \\| ([^|]+) \\| ([^|]+) \\|$`, "gm");
const TITLE = new RegExp(
  `(\\(|\\[|\\bname:)\\s*(["'\`])((?:${NUMBER.source})(?:, (?:${NUMBER.source}))*): `,
  "g",
);

/** The rows of the register, from the text of `docs/design/findings.md`. */
export function registerRows(register: string): Row[] {
  return [...register.matchAll(ROW)].map(([, number = "", , how = ""]) => ({
    number,
    files: [...how.matchAll(/test\/[\w/.-]+\.test\.ts/g)].map(([file]) => file),
    reason: how.match(/Reason: (.+)/)?.[1],
    needs: how.match(/needs ([\w ]+)/)?.[1],
  }));
}

/**
 * The numbers that titles in a test file begin with: those of calls, and those in the rows of tables. Text in
 * comments and in other calls does not count.
 */
export function citationsIn(path: string, text: string, code = sourceFile(path, text).code): Citation[] {
  return [...text.matchAll(TITLE)].flatMap(({ 1: opening = "", 3: numbers = "", index }) => {
    // In the code the contents of comments and of strings are blank.
    if (!code.startsWith(opening, index)) return [];
    const call = callBefore(code, index, opening === "(");
    if (call === undefined) return [];
    return numbers.split(", ").map((number) => ({ path, number, skipped: skippedBy(call) }));
  });
}

/**
 * What is called with the bracket at `index`, if it is a test or a group: `test.skipIf(!isRoot)`. Of a row of
 * a table: the call that the table is in, or nothing, if it has a name of its own.
 */
function callBefore(code: string, index: number, isCall: boolean): string | undefined {
  const start = Math.max(...["test", "describe"].map((name) => lastStart(code.slice(0, index), name)));
  const call = start < 0 ? "" : code.slice(start, index);
  const open = (call.match(/[([{]/g) ?? []).length;
  const closed = (call.match(/[)\]}]/g) ?? []).length;
  if (isCall) return call !== "" && open === closed && !call.includes(";") ? call : undefined;
  return open > closed && !call.includes(";") ? call : "";
}

function lastStart(code: string, name: string): number {
  return [...code.matchAll(new RegExp(`(?<![\\w.])${name}\\b`, "g"))].at(-1)?.index ?? -1;
}

function skippedBy(call: string): Citation["skipped"] {
  if (/\.(?:skip|todo)\b/.test(call)) return "always";
  return /\.(?:skipIf|runIf)\b/.test(call) ? "sometimes" : "never";
}

/** Whether a title, or its beginning, is that of a test, of a group, or of a row of a table. */
export function hasTitle(path: string, text: string, title: string): boolean {
  const { code } = sourceFile(path, text);
  for (let at = text.indexOf(title); at >= 0; at = text.indexOf(title, at + 1)) {
    const opening = text.slice(0, at).match(/[([]\s*(?:name: )?["'`]$/);
    if (opening !== null && code[at - opening[0].length] === opening[0][0]) return true;
  }
  return false;
}
