// `npm test`: do all tests pass, or those in the arguments (`npm test -- test/core`)? Builds first, and
// passes the arguments to vitest. The last line is `N passed, N failed`, below the names of the failures. The
// exit code is 0 only if nothing failed.
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheDir, root, run } from "./env.mjs";
import { failures, lastLine, tally } from "./tally.mjs";

const reportFile = join(cacheDir, "test-report.json");
/** The paths of files with tests that were left out, one a line (decisions/testing.md#in-time). */
const leftOutFile = join(cacheDir, "tests-left-out");

/**
 * The test files of `npm run test:long`: those that are too slow for `npm test`, and those with a longer
 * version (`test/chance/length.ts`).
 */
function longFiles() {
  return globSync("test/**/*.test.ts", { cwd: root }).filter(
    (file) =>
      file.endsWith(".long.test.ts") || readFileSync(join(root, file), "utf8").includes("chance/length.ts"),
  );
}

/** The report of this vitest run; undefined if it wrote none. */
function readReport() {
  try {
    return JSON.parse(readFileSync(reportFile, "utf8"));
  } catch {
    return undefined;
  }
}

/** The files with tests that were left out because they might have ended too late. */
const leftOut = () => readFileSync(leftOutFile, "utf8").split("\n").filter(Boolean);

/** Why a run counts as failed of which no test has failed. */
function whyNone(report, { passed, skipped }) {
  if (report === undefined) return "left no report";
  return passed === 0 && skipped > 0 && leftOut().length > 0
    ? "was out of time before a test began"
    : "reports no failed test: look for an error outside any";
}

async function test(vitestArgs) {
  rmSync(reportFile, { force: true });
  writeFileSync(leftOutFile, "");
  process.env.DROVER_TESTS_LEFT_OUT = leftOutFile;
  const build = await run("node", ["scripts/build.mjs"]);
  if (build.code !== 0) {
    console.error("The build failed, so no test ran. Fix the errors above, or run `npm run check` for more.");
    return { counts: tally(undefined, build.code), failed: ["the build"] };
  }
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
  const vitest = await run("vitest", ["run", ...reporters, ...vitestArgs]);
  const report = readReport();
  const counts = tally(report, vitest.code);
  const failed = failures(report, root);
  if (counts.failed > 0 && failed.length === 0) {
    failed.push(`vitest ended with exit code ${vitest.code} and ${whyNone(report, counts)}`);
  }
  return { counts, failed };
}

const [first, ...others] = process.argv.slice(2);
const isLong = first === "--long";
if (isLong) process.env.DROVER_TESTS = "long";
const vitestArgs = isLong ? others : process.argv.slice(2);
const { counts, failed } = await test(isLong && vitestArgs.length === 0 ? longFiles() : vitestArgs);
const lines = [
  ...leftOut().map((file) => `NOT ALL TESTS BEGAN IN TIME: ${file}`),
  ...failed.map((failure) => `FAILED: ${failure}`),
  lastLine(counts),
].join("\n");
// `.ci/run` adds the counts to its own, and repeats the failures at its end.
writeFileSync(join(cacheDir, "test-tally"), `${lines}\n`);
console.log(lines);
process.exitCode = counts.failed === 0 ? 0 : 1;
