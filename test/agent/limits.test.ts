import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, type TestContext, test, vi } from "vitest";
import { sendSignal } from "../../posix/proc.ts";
import { type Limit, noFiles, noProcesses } from "../support/limits.ts";
import { type Bench, openBench, type RunningAgent, run, stop } from "./support/bench.ts";

const [LIVING, REFUSED, LATER] = ["living/main/1.1", "refused/main/1.1", "later/main/1.1"];

/** On a busy machine. */
const PATIENT = { timeout: 120_000 };

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  const { faults } = bench.plane;
  for (const id of [LIVING, REFUSED, LATER]) bench.plane.order([stop(id, { signal: "SIGKILL" })]);
  for (const pid of bench.processes()) sendSignal(pid, "SIGKILL");
  await bench.close();
  expect(faults).toEqual([]);
});

const START_FAILED = { code: "start_failed", recoverable: true };

describe("a limit that the agent has reached fails that attempt, and ends neither it nor a run", () => {
  test.for<[string, Limit]>([
    ["it can start no process", noProcesses(0)],
    ["its shim can start no process", noProcesses(1)],
  ])("P4: %s", async ([, limit], context) => {
    const { agent, lift } = await limited(limit, context);
    const { startError } = await bench.plane.untilState(REFUSED, "exited");
    expect(startError).toMatchObject(START_FAILED);
    expect(startError?.text).toContain("This machine cannot start more processes now");
    lift();
    await goesOn(agent);
  });

  test("P4: it can open no file, and does not take that for the end of what runs", async (context) => {
    const { agent, lift } = await limited(noFiles, context);
    await vi.waitUntil(
      () => agent.stderr().includes("cannot write its journal, and continues: EMFILE"),
      PATIENT,
    );
    // It cannot look at the end of this one before it can open a file.
    writeFileSync(join(bench.dir, "go"), "");
    await vi.waitUntil(() => bench.processes().length === 0, PATIENT);
    lift();
    const refused = await bench.plane.untilState(REFUSED, "exited");
    if (refused.startError !== undefined) expect(refused.startError).toMatchObject(START_FAILED);
    await goesOn(agent);
  });
});

/** An agent with a run, which has reached a limit when it gets the next one. */
async function limited(limit: Limit, context: TestContext) {
  const agent = bench.start();
  const living = run(LIVING, [
    "sh",
    "-c",
    `until [ -e ${join(bench.dir, "go")} ]; do sleep 0.05; done; exit 7`,
  ]);
  bench.plane.order([living]);
  await bench.plane.untilState(LIVING, "running");
  const lift = limit(agent.child.pid ?? 0);
  if (typeof lift === "string") return context.skip(lift);
  bench.plane.order([living, run(REFUSED, ["true"])]);
  return { agent, lift };
}

/** What ran has its own exit code, and what comes later runs. */
async function goesOn(agent: RunningAgent): Promise<void> {
  writeFileSync(join(bench.dir, "go"), "");
  expect((await bench.plane.untilState(LIVING, "exited")).exit).toMatchObject({ code: 7 });
  bench.plane.order([]);
  await bench.plane.until("both are forgotten", () => bench.plane.reports.at(-1)?.attempts.length === 0);
  bench.plane.order([run(LATER, ["sh", "-c", "exit 5"])]);
  expect((await bench.plane.untilState(LATER, "exited")).exit).toMatchObject({ code: 5 });
  expect(agent.child.exitCode).toBeNull();
}
