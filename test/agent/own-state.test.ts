import { chmodSync, chownSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { faultOfStats } from "../../agent/own-state.ts";
import { type Bench, openBench } from "./support/bench.ts";

// What lies in the state directory is started, by root too: nobody else may be able to change it.

const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

test.each<[string, (dir: string) => void, boolean]>([
  ["that others can write to", (dir) => chmodSync(dir, 0o770), true],
  ["of another user", (dir) => chownSync(dir, NOBODY, NOBODY), isRoot],
])("an agent takes no state directory %s", async (_what, spoil, canBe) => {
  if (!canBe)
    return expect(faultOfStats({ uid: 1, mode: 0o700, isSymbolicLink: () => false }, 2)).toBeDefined();
  mkdirSync(bench.stateDir, { mode: 0o700 });
  spoil(bench.stateDir);
  const agent = bench.start();
  expect((await agent.ended).code).toBe(2);
  expect(agent.stderr()).toContain("is not safe as the state directory");
  expect(readdirSync(bench.stateDir)).toEqual([]);
});

test("an agent takes no link for its state directory", async () => {
  mkdirSync(join(bench.dir, "elsewhere"), { mode: 0o700 });
  symlinkSync("elsewhere", bench.stateDir);
  const agent = bench.start();
  expect((await agent.ended).code).toBe(2);
  expect(readdirSync(join(bench.dir, "elsewhere"))).toEqual([]);
});
