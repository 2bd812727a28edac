import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { inTurn } from "./order/in-turn.ts";

const ROOT = join(import.meta.dirname, "..");
const HOUR_S = 3_600;
const WITHIN_MS = 120_000;

const CONFIG = `export default { test: { runner: ${JSON.stringify(join(ROOT, "test/order/in-time.ts"))} } };`;
const TESTS = `
  import { appendFileSync } from "node:fs";
  import { afterAll, beforeAll, describe, test } from "vitest";
  beforeAll(() => appendFileSync("hooks", "before "));
  afterAll(() => appendFileSync("hooks", "after"));
  test("takes a minute at most", { timeout: 60_000 }, () => {});
  test("takes two hours at most", { timeout: 7_200_000 }, () => {});
  describe("a suite", () => {
    test("takes a minute as well", { timeout: 60_000 }, () => {});
  });
`;

/** Runs the tests above in a run that must end in so many seconds, and returns what it says of each. */
async function runWithin(seconds: number) {
  const root = mkdtempSync(join(ROOT, ".cache", "order-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const leftOut = join(root, "left-out");
  const report = join(root, "report.json");
  writeFileSync(leftOut, "");
  writeFileSync(join(root, "hooks"), "");
  writeFileSync(join(root, "vitest.config.mjs"), CONFIG);
  writeFileSync(join(root, "a.test.mjs"), TESTS);
  const until = Math.ceil(Date.now() / 1_000 + seconds);
  const env = { ...process.env, DROVER_TESTS_UNTIL: String(until), DROVER_TESTS_LEFT_OUT: leftOut };
  const reporters = ["--reporter=json", "--reporter=default", `--outputFile.json=${report}`];
  const options = { cwd: root, env, timeout: WITHIN_MS };
  await promisify(execFile)("vitest", ["run", "--root", root, ...reporters], options);
  const { testResults } = JSON.parse(readFileSync(report, "utf8"));
  return {
    statuses: testResults[0].assertionResults.map(({ status }: { status: string }) => status),
    hooks: readFileSync(join(root, "hooks"), "utf8"),
    named: readFileSync(leftOut, "utf8"),
  };
}

// A run of limited time says what it has not tried; what it has not tried never looks as if it had passed.
test.each([
  { seconds: 4 * HOUR_S, statuses: ["passed", "passed", "passed"], hooks: "before after", named: "" },
  {
    seconds: HOUR_S,
    statuses: ["passed", "pending", "passed"],
    hooks: "before after",
    named: "a.test.mjs\n",
  },
  { seconds: 0, statuses: ["pending", "pending", "pending"], hooks: "", named: "a.test.mjs\n" },
])("tests begin if they end within $seconds s (decisions/testing.md#in-time)", async (given) => {
  const { seconds, ...expected } = given;
  expect(await runWithin(seconds)).toEqual(expected);
});

test("each commit has its own order of all files (decisions/testing.md#in-time)", () => {
  const files = Array.from({ length: 20 }, (_, index) => `${index}.test.ts`);
  const [first, second] = ["one commit", "another"].map((turn) => inTurn(files, (name) => name, turn));
  expect(first).not.toEqual(second);
  expect(first).not.toEqual(files);
  expect(new Set(first)).toEqual(new Set(files));
  expect(inTurn(files, (name) => name, "one commit")).toEqual(first);
});
