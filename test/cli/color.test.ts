import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { hasFailed } from "../../src/shared/run-state.ts";
import { type Bench, environmentFor, openBench } from "./support/command.ts";
import { json, summaryOf } from "./support/control-plane.ts";
import { atTerminal, HAS_TERMINAL, NEEDS_TERMINAL } from "./support/terminal.ts";

// What failed is red in lists, on a terminal alone.

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
  const runs = [
    summaryOf("good", { state: "complete", exitCode: 0 }),
    summaryOf("bad", { state: "complete", exitCode: 3 }),
  ];
  bench.plane.on("GET", /^\/v1\/runs$/, (_seen, res) =>
    json(res, 200, { items: runs, next: null, service: [] }),
  );
});
afterAll(() => bench.close());

test.each([
  ["complete", 0, false],
  ["complete", 1, true],
  ["complete", null, false],
  ["failed", null, true],
  ["timedout", null, true],
  ["unknown", null, true],
  ["aborted", 1, false],
  ["running", null, false],
  ["pending", null, false],
] as const)("a run that is %s with %s has failed: %s (cli.md#color)", (state, exitCode, failed) => {
  expect(hasFailed({ state, exitCode })).toBe(failed);
});

const RED = "\u001b[31m";

test.skipIf(!HAS_TERMINAL).each<[string, NodeJS.ProcessEnv, boolean]>([
  ["red on a terminal", { TERM: "xterm" }, true],
  ["plain with NO_COLOR", { TERM: "xterm", NO_COLOR: "1" }, false],
  ["plain on a terminal that cannot do it", { TERM: "dumb" }, false],
])("what failed is %s (cli.md#color)", async (_what, env, isRed) => {
  const argv = [process.execPath, join(inject("built"), "cli.mjs"), "ps"];
  const { code, screen } = await atTerminal(argv, bench.dir, { ...environmentFor(bench.plane), ...env })
    .ended;
  expect(code).toBe(0);
  expect(screen.split("\n").find((line) => line.startsWith("good"))).not.toContain(RED);
  const bad = screen.split("\n").find((line) => line.startsWith("bad")) ?? "";
  const red = (text: string) => `${RED}${text}\u001b[39m`;
  if (isRed) expect(bad.startsWith(`bad   ${red("complete")}  ${red("3")} `)).toBe(true);
  else expect(bad).toMatch(/^bad {3}complete {2}3 /);
});
if (!HAS_TERMINAL) console.warn(NEEDS_TERMINAL);

test("without a terminal there is no color (cli.md#color)", async () => {
  expect((await bench.run(["ps"])).stdout.toString()).not.toContain("\u001b");
});
