// `npm test`: do all tests pass, or those in the arguments (`npm test -- test/core`)? Builds first, and
// passes the arguments to vitest. The last line is `N passed, N failed`; the exit code is 0 only if nothing
// failed.
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheDir, root, run } from "./env.mjs";
import { lastLine, tally } from "./tally.mjs";

const reportFile = join(cacheDir, "test-report.json");

/** The test files of `npm run test:long`: those with a longer version (`test/chance/length.ts`). */
function longFiles() {
  return globSync("test/**/*.test.ts", { cwd: root }).filter((file) =>
    readFileSync(join(root, file), "utf8").includes("chance/length.ts"),
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

async function test(vitestArgs) {
  rmSync(reportFile, { force: true });
  const build = await run("node", ["scripts/build.mjs"]);
  if (build.code !== 0) {
    console.error("The build failed, so no test ran. Fix the errors above, or run `npm run check` for more.");
    return tally(undefined, build.code);
  }
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
  const vitest = await run("vitest", ["run", ...reporters, ...vitestArgs]);
  const report = readReport();
  if (report === undefined) console.error(`vitest ended with exit code ${vitest.code} and left no report.`);
  return tally(report, vitest.code);
}

const [first, ...others] = process.argv.slice(2);
const isLong = first === "--long";
if (isLong) process.env.DROVER_TESTS = "long";
const vitestArgs = isLong ? others : process.argv.slice(2);
const counts = await test(isLong && vitestArgs.length === 0 ? longFiles() : vitestArgs);
// `.ci/run` adds this to its own counts.
writeFileSync(join(cacheDir, "test-tally"), `${lastLine(counts)}\n`);
console.log(lastLine(counts));
process.exitCode = counts.failed === 0 ? 0 : 1;
