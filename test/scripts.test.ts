import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

// Shell scripts are files, so that shellcheck can say what is wrong with them (CONTRIBUTING.md).

const ROOT = join(import.meta.dirname, "..");
const INSTALL =
  "shellcheck is not installed: `apt-get install shellcheck`, or your system's package of that name";

const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" }).split("\0");
const scripts = tracked.filter((path) => path.endsWith(".sh") || path === ".ci/run");
const isMissing = spawnSync("shellcheck", ["--version"]).error !== undefined;

test("CI has what checks shell scripts, and there are scripts to check", () => {
  expect(process.env.CI !== undefined && isMissing ? INSTALL : "").toBe("");
  expect(scripts).toContain("agent/install.sh");
});

test.runIf(!isMissing).each(scripts)("%s passes shellcheck", (path) => {
  const { stdout, stderr } = spawnSync("shellcheck", [path], { cwd: ROOT, encoding: "utf8" });
  expect(stdout + stderr).toBe("");
});
