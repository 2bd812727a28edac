import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inspectMachine } from "../../agent/exec/inspect.ts";
import { holdersOf } from "../../agent/exec/processes/holders.ts";
import { until } from "../local/support/scratch.ts";

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "drover-inspect-")));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

// workers.md#unfit-hosts
describe("a machine", () => {
  test("that can be written, and whose clock is right, is fit", async () => {
    expect(await inspectMachine(dir, 0)).toBeNull();
    expect(await inspectMachine(dir, -5 * 60_000)).toBeNull();
  });

  test("whose state cannot be written is not", async () => {
    rmSync(dir, { recursive: true });
    expect(await inspectMachine(dir, 0)).toMatch(/ENOENT|cannot be written/);
  });

  test.each([
    ["/proc", /cannot be written|is full/],
    ["/sys", /cannot be written|is full/],
  ])("with a file system that takes no files is not: %s", async (path, fault) => {
    expect(await inspectMachine(path, 0)).toMatch(fault);
  });

  test.each([
    [3_600_000, "its clock is 1h behind that of the control plane"],
    [-600_000, "its clock is 10m ahead of that of the control plane"],
  ])("whose clock is wrong by %d ms is not", async (errorMs, text) => {
    expect(await inspectMachine(dir, errorMs)).toContain(text);
  });
});

// workers.md#stale-runs
test("a process that runs in a directory, or below it, holds on to it", async () => {
  const below = join(dir, "a");
  mkdirSync(below);
  expect(holdersOf(dir)).toBeUndefined();
  const child = spawn("sleep", ["60"], { cwd: below, stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  try {
    expect(await until("it is found", () => holdersOf(dir)?.includes("(sleep)") && holdersOf(dir))).toBe(
      `process ${child.pid} (sleep)`,
    );
    expect(holdersOf(join(dir, "b"))).toBeUndefined();
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
  expect(holdersOf(dir)).toBeUndefined();
});
