// How many tests passed and failed, and which failed?
import { relative } from "node:path";

/**
 * Counts the tests in a report of vitest's JSON reporter (undefined if vitest crashed). A failure outside any
 * test (a file that does not load, an uncaught error, a crash) counts as one failed test, and so does a run
 * without any test, since it proves nothing.
 */
export function tally(report, exitCode) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of report?.testResults ?? []) {
    let failedHere = 0;
    for (const { status } of file.assertionResults) {
      if (status === "passed") counts.passed += 1;
      else if (status === "failed") failedHere += 1;
      else counts.skipped += 1;
    }
    counts.failed += file.status === "failed" ? Math.max(1, failedHere) : failedHere;
  }
  const provesNothing = exitCode !== 0 || counts.passed === 0;
  if (counts.failed === 0 && provesNothing) counts.failed = 1;
  return counts;
}

/** The last line of a test run: `12 passed, 0 failed`, and `, 2 skipped` if any were skipped. */
export function lastLine({ passed, failed, skipped = 0 }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

const MOST_CHARACTERS = 400;

/** What vitest says about a failure, without its colors and its stack, on one line; a long text is cut. */
function saidOf(message = "") {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a color starts with the control character ESC
  const [said = ""] = message.replace(/\u001b\[[0-9;]*m/g, "").split(/\n\s+at /);
  const line = said.replace(/\s+/g, " ").trim();
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line;
}

/** The line of the test file `path` that a stack names first, as ` (line 12)`; empty: it names none. */
function lineWithin(path, message = "") {
  const at = message.indexOf(`${path}:`);
  return at < 0 ? "" : ` (line ${Number.parseInt(message.slice(at + path.length + 1), 10)})`;
}

/**
 * The failures in a report of vitest's JSON reporter, a line each: file (relative to `root`), test, error
 * and where in the file it arose. A file that failed outside its tests has its own line. Empty without a
 * report.
 */
export function failures(report, root) {
  return (report?.testResults ?? []).flatMap((file) => {
    const path = relative(root, file.name);
    const failed = file.assertionResults.filter(({ status }) => status === "failed");
    if (failed.length === 0 && file.status === "failed") return [`${path}: ${saidOf(file.message)}`];
    return failed.map(({ fullName, failureMessages: [message] = [] }) => {
      return `${path}: ${fullName}: ${saidOf(message)}${lineWithin(path, message)}`;
    });
  });
}
