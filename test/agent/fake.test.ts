import { afterEach, beforeEach, expect, test } from "vitest";
import type { FakeScript } from "../../src/schema/run/task.ts";
import { type Bench, openBench, run, stop } from "./support/bench.ts";

// The fake driver in a real agent: what its script says is reported, and no process is ever started.

const ID = "build-17/main/1.1";
const SCRIPT: FakeScript = {
  runForMs: 3_600_000,
  exitCode: 0,
  blockStartMs: 0,
  ignoreSignals: false,
  output: ["ready"],
  dieWithAgent: false,
};

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  const { faults } = bench.plane;
  // A helper of the agent's start may still be about to end.
  await expect.poll(() => bench.processes()).toEqual([]);
  await bench.close();
  expect(faults).toEqual([]);
});

const order = (script: Partial<FakeScript>) =>
  bench.plane.order([run(ID, ["no-such-command"], { fake: { ...SCRIPT, ...script } })]);

/** Starts an agent that plays this. */
async function plays(script: Partial<FakeScript>) {
  const agent = bench.start();
  order(script);
  await bench.plane.untilState(ID, "running");
  return agent;
}

async function startAgain({ child, ended }: ReturnType<Bench["start"]>): Promise<void> {
  child.kill("SIGKILL");
  await ended;
  bench.start();
}

test("it ends as its script says, and its output arrives", async () => {
  bench.start();
  order({ runForMs: 50, exitCode: 7, output: ["one", "two"] });
  expect((await bench.plane.untilStored(ID)).exit).toMatchObject({ code: 7, signal: null });
  expect(bench.plane.stored(ID).toString()).toBe("one\ntwo\n");
});

test("a stop ends it, and a kill what ignores that", async () => {
  await plays({ ignoreSignals: true });
  bench.plane.order([stop(ID, { timeoutMs: 100 })]);
  const attempt = await bench.plane.untilState(ID, "exited");
  expect(attempt).toMatchObject({ exit: { signal: "SIGKILL" }, kill: { tries: 1, treeGone: true } });
});

test("a signal that somebody sends ends it", async () => {
  await plays({});
  const signals = [{ id: ID, signal: "SIGUSR1" as const, n: 1 }];
  bench.plane.order([run(ID, ["x"], { fake: SCRIPT })], { signals });
  expect((await bench.plane.untilState(ID, "exited")).exit).toMatchObject({ code: null, signal: "SIGUSR1" });
});

test.each([true, false])("a start that fails says whether another try may help: %s", async (recoverable) => {
  bench.start();
  order({ startError: { text: "no image", recoverable } });
  const attempt = await bench.plane.untilState(ID, "exited");
  expect(attempt.startError).toEqual({ code: "start_failed", text: "no image", recoverable });
});

test("a start that blocks is ended by a kill at once", async () => {
  bench.start();
  order({ blockStartMs: 3_600_000 });
  await bench.plane.untilState(ID, "preparing");
  bench.plane.order([stop(ID)]);
  await bench.plane.untilState(ID, "gone");
});

test("it goes on when its agent is started anew, and is stopped then as any other", async () => {
  await startAgain(await plays({}));
  await bench.plane.until("it is adopted", () => (bench.plane.reports.at(-1)?.incarnation ?? 0) > 1);
  expect(bench.plane.attempt(ID)?.state).toBe("running");
  bench.plane.order([stop(ID)]);
  expect((await bench.plane.untilState(ID, "exited")).exit?.signal).toBe("SIGTERM");
});

test("or has died with it", async () => {
  await startAgain(await plays({ dieWithAgent: true }));
  expect((await bench.plane.untilState(ID, "gone")).exit).toBeUndefined();
});
