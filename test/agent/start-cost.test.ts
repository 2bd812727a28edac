import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findHierarchies } from "../../agent/exec/processes/hierarchies.ts";
import { probeShell } from "../../agent/exec/shims/shell.ts";
import { type Bench, openBench, type RunningAgent, run } from "./support/bench.ts";

// What a command that ends at once makes its agent ask of the system, from the order until nothing of the
// attempt is left (budgets.md#agents). Cgroups and looks at other processes depend on the machine, and are
// not counted.

const COUNTER = fileURLToPath(new URL("./support/count-calls.mjs", import.meta.url));
const WARM = 3;
const RUNS = 10;

/** For each attempt: processes started, files opened, names made or removed, and waits for the disk. */
const BUDGET = { forks: 1, opened: 36, changed: 36, flushed: 0 };
type Counts = typeof BUDGET;

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

/** Runs `true` so many times, one after the other, each until the agent has forgotten it. */
async function runTrue(first: number, count: number): Promise<void> {
  for (let n = first; n < first + count; n += 1) {
    const id = `short-${n}/main/1.1`;
    bench.plane.order([run(id, ["true"])]);
    await bench.plane.untilState(id, "exited");
    bench.plane.order([]);
    const left = [join("attempts", `short-${n}_main_1.1`), join("allocs", `short-${n}_1`)];
    const isLeft = () => left.some((name) => existsSync(join(bench.stateDir, name)));
    await expect.poll(isLeft).toBe(false);
  }
}

async function countsOf({ child }: RunningAgent): Promise<Counts> {
  const file = join(bench.dir, "counts");
  rmSync(file, { force: true });
  child.kill("SIGUSR2");
  await expect.poll(() => existsSync(file)).toBe(true);
  return JSON.parse(readFileSync(file, "utf8"));
}

test("a short command costs its agent no fork, a few files, and no wait for the disk", async () => {
  const { canServe } = await probeShell(join(bench.dir, "shell"));
  const isServed = canServe && findHierarchies().length > 0;
  const agent = bench.start({
    NODE_OPTIONS: `--import ${COUNTER}`,
    COUNTS_FILE: join(bench.dir, "counts"),
    DROVER_CHECK_EVERY: "",
  });
  await runTrue(0, WARM);
  const before = await countsOf(agent);
  await runTrue(WARM, RUNS);
  const after = await countsOf(agent);
  const each = (what: keyof Counts) => Math.ceil((after[what] - before[what]) / RUNS);
  const cost = {
    forks: each("forks"),
    opened: each("opened"),
    changed: each("changed"),
    flushed: each("flushed"),
  };
  console.log(`for each attempt: ${JSON.stringify(cost)}`);
  for (const [what, most] of Object.entries(BUDGET)) {
    expect(cost[what as keyof Counts], what).toBeLessThanOrEqual(most);
  }
  expect(cost.forks).toBe(isServed ? 0 : 1);
});
