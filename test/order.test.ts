import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const FILE = "test/core/job/ids.test.ts";

// A run of limited time says what it has not tried; nothing that it has not tried looks as if it had passed.
test.each([
  { what: "is over", until: 1, tests: /Tests +(?:\d+ skipped )?\(\d+\)/, named: `${FILE}\n` },
  { what: "is not over", until: Date.now(), tests: /Tests +\d+ passed/, named: "" },
])("tests begin only before the time of a run is over: it $what (decisions/testing.md#in-time)", (given) => {
  const leftOut = join(mkdtempSync(join(tmpdir(), "order-")), "left-out");
  writeFileSync(leftOut, "");
  const env = {
    ...process.env,
    DROVER_TESTS_UNTIL: String(given.until),
    DROVER_TESTS_LEFT_OUT: leftOut,
    DROVER_TESTS_TURN: "any commit",
  };
  const vitest = spawnSync("vitest", ["run", "--no-color", FILE], { cwd: ROOT, env, encoding: "utf8" });
  expect(vitest.stdout + vitest.stderr).toMatch(given.tests);
  expect(readFileSync(leftOut, "utf8")).toBe(given.named);
});
